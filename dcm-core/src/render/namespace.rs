//! The namespace of a logical cloud, and its quotas.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Context, Error, STAGE_BASE, STAGE_NAMESPACE, Steps, naming};

pub(super) fn render(context: &Context<'_>, steps: &mut Steps<'_>) -> Result<(), Error> {
    let cloud = context.cloud;
    let labels = cloud.labels();
    let namespace = core::Namespace {
        metadata: ObjectMeta {
            name: Some(context.namespace.as_str().to_owned()),
            labels: (!labels.is_empty()).then(|| labels.clone()),
            ..ObjectMeta::default()
        },
        ..core::Namespace::default()
    };
    steps.object(STAGE_NAMESPACE, &namespace)?;
    for quota in cloud.quotas() {
        let hard =
            quota.hard.iter().map(|(key, quantity)| (key.clone(), Quantity(quantity.to_string()))).collect();
        let object = core::ResourceQuota {
            metadata: context.own(naming::resource_quota(&quota.metadata.name)),
            spec: Some(core::ResourceQuotaSpec { hard: Some(hard), ..core::ResourceQuotaSpec::default() }),
            ..core::ResourceQuota::default()
        };
        steps.object(STAGE_BASE, &object)?;
    }
    Ok(())
}
