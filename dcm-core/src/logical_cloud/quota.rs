//! Quotas: what a logical cloud may use on each cluster.

mod keys;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::QuotaName;
use crate::quantity::Quantity;
use crate::refusal::{Checks, Path, Refusals};

use super::check::Part;
use super::draft::QuotaDraft;
use super::labels::{QUALIFIED_NAME_RULE, is_qualified_name};
use super::limits::QUOTA_KEYS_MAX;
use super::metadata::Metadata;

/// What a logical cloud may use on each cluster (not in total): one ResourceQuota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "QuotaDraft", into = "QuotaDraft")]
#[non_exhaustive]
pub struct Quota {
    /// Name, unique in the cloud, and notes.
    pub metadata: Metadata<QuotaName>,
    /// ResourceQuota keys with their quantities, at least one.
    pub hard: BTreeMap<String, Quantity>,
}

impl Part for Quota {
    type Draft = QuotaDraft;
    type Name = QuotaName;

    fn metadata(&self) -> &Metadata<QuotaName> {
        &self.metadata
    }

    fn check(draft: &QuotaDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let before = checks.count();
        let metadata = Metadata::check(draft.metadata(), at, checks);
        let at = at.field("hard");
        if draft.hard.is_empty() || draft.hard.len() > QUOTA_KEYS_MAX {
            checks.refuse(&at, "", format!("must have 1 to {QUOTA_KEYS_MAX} keys"));
        }
        let mut hard = BTreeMap::new();
        for (key, value) in draft.hard.iter().take(QUOTA_KEYS_MAX) {
            if let Some(quantity) = entry(key, value, &at.key(key), checks) {
                hard.insert(key.clone(), quantity);
            }
        }
        let metadata = metadata?;
        (checks.count() == before).then_some(Self { metadata, hard })
    }
}

fn entry(key: &str, value: &Value, at: &Path, checks: &mut Checks) -> Option<Quantity> {
    if !is_qualified_name(key) {
        checks.refuse(at, key, QUALIFIED_NAME_RULE);
        return None;
    }
    if let Some(rule) = keys::uncounted(key) {
        checks.refuse(at, key, rule);
        return None;
    }
    let amount = amount(value, at, checks)?;
    if keys::is_whole(key) && !amount.is_whole() {
        let written = written(value).unwrap_or_default();
        checks.refuse(at, &written, "counts objects and must be a whole number");
        return None;
    }
    Some(amount)
}

/// A quantity that is not negative.
pub(super) fn amount(value: &Value, at: &Path, checks: &mut Checks) -> Option<Quantity> {
    let Some(text) = written(value) else {
        checks.refuse(at, "", "must be a quantity, as a text or a number");
        return None;
    };
    let quantity: Quantity = checks.accept(at, &text, text.parse())?;
    if quantity.is_negative() {
        checks.refuse(at, &text, "must not be negative");
        return None;
    }
    Some(quantity)
}

/// A quantity as it is written in a document; none where it is no text or number.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Least amount of memory or storage that a quota is likely to mean, in bytes: less looks like a forgotten unit.
const PLAUSIBLE_BYTES_MIN: &str = "1Mi";

/// Least amount of cpu that a container can be limited to.
const PLAUSIBLE_CPU_MIN: &str = "1m";

/// Why a quantity in a quota is probably not meant; none where it is plausible. 0 is: it keeps everything out.
pub(crate) fn implausible(key: &str, quantity: &Quantity) -> Option<&'static str> {
    let name = key.rsplit(['/', '.']).next().unwrap_or(key);
    let (least, rule) = match name {
        "memory" | "storage" | "ephemeral-storage" if !quantity.is_whole() => {
            return Some("has a part of a byte: the unit is bytes, and m is a thousandth");
        }
        "memory" | "storage" | "ephemeral-storage" => {
            (PLAUSIBLE_BYTES_MIN, "is less than 1 MiB: the unit is bytes, if none such as Mi or Gi is given")
        }
        "cpu" => (PLAUSIBLE_CPU_MIN, "is less than one thousandth of a core, which no container can have"),
        _ => return None,
    };
    let least: Quantity = least.parse().expect("it is a quantity");
    (!quantity.is_zero() && least.is_above(quantity)).then_some(rule)
}

impl TryFrom<QuotaDraft> for Quota {
    type Error = Refusals;

    fn try_from(draft: QuotaDraft) -> Result<Self, Refusals> {
        super::checked(|checks| Self::check(&draft, &Path::root(), checks))
    }
}

impl From<Quota> for QuotaDraft {
    fn from(quota: Quota) -> Self {
        let hard = quota.hard.into_iter().map(|(key, quantity)| (key, quantity.to_string().into())).collect();
        Self { hard, ..Self::with_metadata(quota.metadata.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn quota(hard: Value) -> Result<Quota, Refusals> {
        let hard = serde_json::from_value(hard).unwrap();
        Quota::try_from(QuotaDraft { name: "q".into(), hard, ..QuotaDraft::default() })
    }

    #[test]
    fn quantities_are_canonical_and_numbers_are_taken() {
        let one = quota(json!({"limits.cpu": "1000m", "pods": 50, "requests.memory": "1024Mi"})).unwrap();
        let other = quota(json!({"limits.cpu": "1", "pods": "50", "requests.memory": "1Gi"})).unwrap();
        assert_eq!(one, other);
        assert_eq!(QuotaDraft::from(one).hard["limits.cpu"], "1");
    }

    #[test]
    fn every_key_of_the_api_is_accepted() {
        let keys = json!({
            "count/deployments.apps": "10", "services.loadbalancers": "0", "requests.nvidia.com/gpu": "4",
            "gold.storageclass.storage.k8s.io/requests.storage": "1.5Gi", "hugepages-2Mi": "1Gi",
            "requests.hugepages-1Gi": "1Gi",
        });
        assert!(quota(keys).is_ok());
    }

    #[test]
    fn what_the_api_server_would_refuse_is_refused_here() {
        for bad in [
            json!({}),
            json!({"pod": "1"}),
            json!({"pods": "1500m"}),
            json!({"count/jobs.batch": "0.5"}),
            json!({"gold.storageclass.storage.k8s.io/requests.storage": "1500m"}),
            json!({"storage": "1Gi"}),
            json!({"cpu": "-1"}),
            json!({"cpu": "much"}),
            json!({"cpu": true}),
            json!({"a b/c": "1"}),
        ] {
            assert!(quota(bad.clone()).is_err(), "{bad}");
        }
    }
}
