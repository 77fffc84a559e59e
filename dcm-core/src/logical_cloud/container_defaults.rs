//! What containers get that do not say what they need.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::quantity::Quantity;
use crate::refusal::{Checks, Path};

use super::draft::ContainerDefaultsDraft;
use super::quota::amount;

/// The resources that containers have requests and limits of by default.
pub const CONTAINER_RESOURCES: [&str; 3] = ["cpu", "ephemeral-storage", "memory"];

/// What a logical cloud's containers get that do not say what they need, where the cloud's document gives it; each by its resource. A zero gives
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainerDefaults {
    /// Requests.
    pub requests: BTreeMap<String, Quantity>,
    /// Limits.
    pub limits: BTreeMap<String, Quantity>,
}

impl ContainerDefaults {
    /// Makes nothing only if it refuses something.
    pub(super) fn check(draft: &ContainerDefaultsDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let before = checks.count();
        let requests = amounts(&draft.requests, &at.field("requests"), checks);
        let limits = amounts(&draft.limits, &at.field("limits"), checks);
        for (resource, request) in &requests {
            let limit = limits.get(resource).filter(|limit| !limit.is_zero() && request.is_above(limit));
            if let Some(limit) = limit {
                let rule = format!("must not be above the limit, {limit}");
                checks.refuse(&at.field("requests").key(resource), &request.to_string(), rule);
            }
        }
        (checks.count() == before).then_some(Self { requests, limits })
    }

    /// None where nothing is given.
    pub(super) fn draft(self) -> Option<ContainerDefaultsDraft> {
        let values = |amounts: BTreeMap<String, Quantity>| {
            amounts.into_iter().map(|(resource, amount)| (resource, amount.to_string().into())).collect()
        };
        let draft = ContainerDefaultsDraft { requests: values(self.requests), limits: values(self.limits) };
        (draft != ContainerDefaultsDraft::default()).then_some(draft)
    }
}

fn amounts(draft: &BTreeMap<String, Value>, at: &Path, checks: &mut Checks) -> BTreeMap<String, Quantity> {
    let mut amounts = BTreeMap::new();
    for (resource, value) in draft {
        let at = at.key(resource);
        if !CONTAINER_RESOURCES.contains(&resource.as_str()) {
            checks.refuse(&at, resource, format!("must be one of {}", CONTAINER_RESOURCES.join(", ")));
            // Of thousands one refusal is enough.
            break;
        }
        if let Some(amount) = amount(value, &at, checks) {
            amounts.insert(resource.clone(), amount);
        }
    }
    amounts
}
