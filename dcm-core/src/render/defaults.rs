//! Defaults for containers that don't say what they need.
//!
//! Once a ResourceQuota holds requests or limits of cpu, memory or ephemeral storage, Kubernetes refuses every pod that
//! says nothing about them. One LimitRange gives such containers a value, for exactly the requests and limits that some
//! quota holds: nothing that the cloud didn't limit is limited by it.
//!
//! The figures ([`DEFAULT_REQUESTS`], [`DEFAULT_LIMITS`]) are for a small service: enough to start, and so little that a
//! quota of a few cores admits a dozen. A quota that is smaller than a figure takes its place, as no pod would be
//! admitted otherwise. A quota of 0 gives no default: it is there to keep pods out. An [implausible](implausible) quota gives none, either.
//!
//! The cloud's document can give other figures (`containerDefaults`), also for what no quota holds. They are given as they are.
//!
//! A LimitRange among the manifests of a privileged cloud comes first: what it gives to containers is not given here, and what is given
//! here is within what it allows.

mod brought;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LimitRange, LimitRangeItem, LimitRangeSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::logical_cloud::{ContainerDefaults, Quota, implausible};
use crate::quantity::Quantity;

use self::brought::Brought;
use super::{Context, Error, STAGE_BASE, Steps, naming};

/// What a container asks for when it doesn't say and a quota holds it.
pub const DEFAULT_REQUESTS: [(&str, &str); 3] =
    [("cpu", "100m"), ("ephemeral-storage", "256Mi"), ("memory", "128Mi")];

/// What a container is limited to when it doesn't say and a quota holds it.
pub const DEFAULT_LIMITS: [(&str, &str); 3] =
    [("cpu", "500m"), ("ephemeral-storage", "1Gi"), ("memory", "512Mi")];

pub(super) fn render(context: &Context<'_>, steps: &mut Steps<'_>) -> Result<(), Error> {
    let (mut requests, mut limits) = defaults(context.cloud.quotas(), context.cloud.container_defaults());
    Brought::of(context.cloud.manifests()).fit(&mut limits, &mut requests);
    if requests.is_empty() && limits.is_empty() {
        return Ok(());
    }
    let item = LimitRangeItem {
        type_: "Container".to_owned(),
        default: texts(limits),
        default_request: texts(requests),
        ..LimitRangeItem::default()
    };
    let metadata = context.own(naming::LIMIT_RANGE.to_owned());
    let object = LimitRange { metadata, spec: Some(LimitRangeSpec { limits: vec![item] }) };
    steps.object(STAGE_BASE, &object)
}

/// Amounts by resource.
type Figures = BTreeMap<String, Quantity>;

/// The requests and limits of a container that doesn't say, with those that the cloud's document gives.
fn defaults(quotas: &[Quota], given: &ContainerDefaults) -> (Figures, Figures) {
    let mut limits = figures(&DEFAULT_LIMITS, |resource| held(quotas, &[&format!("limits.{resource}")]));
    let mut requests =
        figures(&DEFAULT_REQUESTS, |resource| held(quotas, &[resource, &format!("requests.{resource}")]));
    for (resource, request) in &given.requests {
        limits.entry(resource.clone()).and_modify(|limit| *limit = limit.larger(*request));
    }
    replace(&mut limits, &given.limits);
    for (resource, figure) in DEFAULT_REQUESTS {
        // Kubernetes would take the limit as the request too: several times what a small service needs. And a request
        // above the limit would make the pod invalid.
        if let Some(limit) = limits.get(resource) {
            let request = requests.get(resource).copied().unwrap_or_else(|| quantity(figure));
            requests.insert(resource.to_owned(), request.smaller(*limit));
        }
    }
    replace(&mut requests, &given.requests);
    (requests, limits)
}

/// Puts given figures in the place of others. A zero gives nothing.
fn replace(figures: &mut Figures, given: &Figures) {
    figures.extend(given.iter().map(|(resource, figure)| (resource.clone(), *figure)));
    figures.retain(|_, figure| !figure.is_zero());
}

fn texts(figures: Figures) -> Option<BTreeMap<String, Text>> {
    let text = |(resource, figure): (String, Quantity)| (resource, Text(figure.to_string()));
    (!figures.is_empty()).then(|| figures.into_iter().map(text).collect())
}

/// The figures for the resources that a quota holds, each no larger than the quota.
fn figures(table: &[(&str, &str)], held: impl Fn(&str) -> Option<Quantity>) -> Figures {
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
        .flat_map(|quota| keys.iter().filter_map(|key| Some((*key, *quota.hard.get(*key)?))))
        .filter(|(key, amount)| implausible(key, amount).is_none())
        .map(|(_, amount)| amount)
        .reduce(Quantity::smaller)
}

fn quantity(figure: &str) -> Quantity {
    figure.parse().expect("the figures are quantities")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logical_cloud::QuotaDraft;
    use crate::manifest::Manifest;

    fn of(hard: &[(&str, &str)]) -> (Figures, Figures) {
        with(hard, &ContainerDefaults::default())
    }

    fn with(hard: &[(&str, &str)], given: &ContainerDefaults) -> (Figures, Figures) {
        let hard = hard.iter().map(|(key, amount)| ((*key).to_owned(), (*amount).into())).collect();
        let quota = Quota::try_from(QuotaDraft { name: "q".into(), hard, ..QuotaDraft::default() }).unwrap();
        defaults(&[quota], given)
    }

    fn amounts(pairs: &[(&str, &str)]) -> Figures {
        pairs.iter().map(|(resource, amount)| ((*resource).to_owned(), quantity(amount))).collect()
    }

    #[test]
    fn only_what_a_quota_holds_gets_a_default() {
        assert_eq!(of(&[("pods", "5"), ("requests.storage", "1Gi")]), (amounts(&[]), amounts(&[])));
        assert_eq!(of(&[("cpu", "2")]), (amounts(&[("cpu", "100m")]), amounts(&[])));
        let both = (amounts(&[("memory", "128Mi")]), amounts(&[("memory", "512Mi")]));
        assert_eq!(of(&[("limits.memory", "4Gi")]), both);
    }

    #[test]
    fn a_default_is_never_larger_than_the_quota_and_a_request_never_than_its_limit() {
        let small = of(&[("limits.cpu", "50m"), ("requests.memory", "64Mi")]);
        assert_eq!(small, (amounts(&[("cpu", "50m"), ("memory", "64Mi")]), amounts(&[("cpu", "50m")])));
    }

    #[test]
    fn a_quota_of_nothing_keeps_pods_out() {
        assert_eq!(of(&[("limits.cpu", "0"), ("requests.cpu", "0")]), (amounts(&[]), amounts(&[])));
    }

    #[test]
    fn what_the_document_gives_takes_the_place_of_our_figures_and_a_zero_gives_nothing() {
        let given = |requests: &[(&str, &str)], limits: &[(&str, &str)]| {
            let mut given = ContainerDefaults::default();
            (given.requests, given.limits) = (amounts(requests), amounts(limits));
            given
        };
        let cpu = [("limits.cpu", "4")];
        for (hard, given, requests, limits) in [
            (
                &[("pods", "5")][..],
                given(&[], &[("memory", "1Gi")]),
                &[("memory", "128Mi")][..],
                &[("memory", "1Gi")][..],
            ),
            (&cpu, given(&[], &[("cpu", "50m")]), &[("cpu", "50m")], &[("cpu", "50m")]),
            (&cpu, given(&[("cpu", "2")], &[]), &[("cpu", "2")], &[("cpu", "2")]),
            (&cpu, given(&[("cpu", "20m")], &[]), &[("cpu", "20m")], &[("cpu", "500m")]),
            (&cpu, given(&[], &[("cpu", "0")]), &[], &[]),
            (&cpu, given(&[("cpu", "0")], &[]), &[], &[("cpu", "500m")]),
        ] {
            assert_eq!(with(hard, &given), (amounts(requests), amounts(limits)), "{hard:?} {given:?}");
        }
    }

    /// The figures for quotas of these limits beside a LimitRange with these items.
    fn beside(hard: &[(&str, &str)], items: &serde_json::Value) -> (Figures, Figures) {
        let manifest = serde_json::json!({
            "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "r", "namespace": "n"}, "spec": {"limits": items},
        });
        let (mut requests, mut limits) = of(hard);
        Brought::of(&[Manifest::new(manifest).unwrap()]).fit(&mut limits, &mut requests);
        (requests, limits)
    }

    #[test]
    fn what_a_limit_range_of_the_cloud_gives_is_not_given_and_the_rest_is_within_what_it_allows() {
        use serde_json::json;
        let cpu = [("limits.cpu", "4")];
        let none = (amounts(&[]), amounts(&[]));
        for item in [
            json!({"type": "Container", "max": {"cpu": "300m"}}),
            json!({"type": "Container", "default": {"cpu": "200m"}}),
            json!({"type": "Container", "default": {"cpu": 1}, "defaultRequest": {"cpu": "50m"}}),
            json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}),
        ] {
            assert_eq!(beside(&cpu, &json!([item.clone()])), none, "{item}");
        }
        let request = json!({"type": "Container", "defaultRequest": {"cpu": "1"}});
        assert_eq!(beside(&cpu, &json!([request])), (amounts(&[]), amounts(&[("cpu", "1")])));
        let least = json!({"type": "Container", "min": {"cpu": "750m"}});
        assert_eq!(beside(&cpu, &json!([least])), (amounts(&[]), amounts(&[("cpu", "750m")])));
        let pod = json!({"type": "Pod", "max": {"cpu": "80m"}});
        assert_eq!(beside(&cpu, &json!([pod])), (amounts(&[("cpu", "80m")]), amounts(&[("cpu", "80m")])));
        let other = json!({"type": "Container", "max": {"memory": "64Mi"}});
        assert_eq!(beside(&cpu, &json!([other])), of(&cpu));
        let storage = json!({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}});
        assert_eq!(beside(&cpu, &json!([storage])), of(&cpu));
    }

    #[test]
    fn an_implausible_quota_gives_no_default() {
        for hard in
            [("limits.memory", "512"), ("requests.memory", "100m"), ("memory", "64k"), ("limits.cpu", "500u")]
        {
            assert_eq!(of(&[hard]), (amounts(&[]), amounts(&[])), "{hard:?}");
        }
    }
}
