//! Defaults for containers that don't say what they need.
//!
//! Once a ResourceQuota holds requests or limits of cpu, memory or ephemeral storage, Kubernetes refuses every pod that
//! says nothing about them. One LimitRange gives such containers a value, for exactly the requests and limits that some
//! quota holds: nothing that the cloud didn't limit is limited by it.
//!
//! The figures ([`DEFAULT_REQUESTS`], [`DEFAULT_LIMITS`]) are for a small service: enough to start, and so little that a
//! quota of a few cores admits a dozen. A quota that is smaller than a figure takes its place, as no pod would be
//! admitted otherwise. A quota of 0 gives no default: it is there to keep pods out. Whoever wants other defaults says
//! what each container needs, or brings a LimitRange in a privileged cloud.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LimitRange, LimitRangeItem, LimitRangeSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::app_context::Existing;
use crate::logical_cloud::{Quantity, Quota};

use super::{Context, Error, STAGE_BASE, Steps, naming};

/// What a container asks for when it doesn't say and a quota holds it.
pub const DEFAULT_REQUESTS: [(&str, &str); 3] = [
    ("cpu", "100m"),
    ("ephemeral-storage", "256Mi"),
    ("memory", "128Mi"),
];

/// What a container is limited to when it doesn't say and a quota holds it.
pub const DEFAULT_LIMITS: [(&str, &str); 3] =
    [("cpu", "500m"), ("ephemeral-storage", "1Gi"), ("memory", "512Mi")];

pub(super) fn render(context: &Context<'_>, steps: &mut Steps) -> Result<(), Error> {
    let quotas = context.cloud.quotas();
    let limits = figures(&DEFAULT_LIMITS, |resource| {
        held(quotas, &[&format!("limits.{resource}")])
    });
    let mut requests = figures(&DEFAULT_REQUESTS, |resource| {
        held(quotas, &[resource, &format!("requests.{resource}")])
    });
    for (resource, figure) in DEFAULT_REQUESTS {
        // Kubernetes would take the limit as the request too: four times as much as a small service needs. And a
        // request above the limit would make the pod invalid.
        if let Some(limit) = limits.get(resource) {
            let request = requests
                .get(resource)
                .copied()
                .unwrap_or_else(|| quantity(figure));
            requests.insert(resource.to_owned(), request.smaller(*limit));
        }
    }
    if requests.is_empty() {
        return Ok(());
    }
    let texts = |figures: BTreeMap<String, Quantity>| {
        let texts: BTreeMap<String, Text> = figures
            .into_iter()
            .map(|(resource, figure)| (resource, Text(figure.to_string())))
            .collect();
        (!texts.is_empty()).then_some(texts)
    };
    let item = LimitRangeItem {
        type_: "Container".to_owned(),
        default: texts(limits),
        default_request: texts(requests),
        ..LimitRangeItem::default()
    };
    let metadata = context.own(naming::LIMIT_RANGE.to_owned());
    let object = LimitRange {
        metadata,
        spec: Some(LimitRangeSpec { limits: vec![item] }),
    };
    steps.object(STAGE_BASE, &object, Existing::Refuse)
}

/// The figures for the resources that a quota holds, each no larger than the quota.
fn figures(table: &[(&str, &str)], held: impl Fn(&str) -> Option<Quantity>) -> BTreeMap<String, Quantity> {
    table
        .iter()
        .filter_map(|(resource, figure)| {
            let held = held(resource).filter(|held| !held.is_zero())?;
            Some(((*resource).to_owned(), quantity(figure).smaller(held)))
        })
        .collect()
}

/// The smallest amount that some quota holds under one of these keys.
fn held(quotas: &[Quota], keys: &[&str]) -> Option<Quantity> {
    quotas
        .iter()
        .flat_map(|quota| keys.iter().filter_map(|key| quota.hard.get(*key)))
        .copied()
        .reduce(Quantity::smaller)
}

fn quantity(figure: &str) -> Quantity {
    figure.parse().expect("the figures are quantities")
}
