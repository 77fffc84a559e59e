//! The rules of quotas and limit ranges.

use std::collections::BTreeSet;

use dcm_core::port::cluster::Error;
use dcm_core::quantity::Quantity;
use serde_json::Value;

use super::validation::{invalid, is_qualified};

/// Resources of a quota that are counted.
const COUNTED: [&str; 9] = [
    "pods",
    "services",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources of a quota that are measured.
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

/// Checks `spec.hard` of a ResourceQuota.
pub(super) fn quota(hard: &Value) -> Result<(), Error> {
    for (resource, quantity) in hard.as_object().into_iter().flatten() {
        let name = resource.as_str();
        let quantity = read(quantity);
        let has_huge_pages = name.strip_prefix("requests.").unwrap_or(name).starts_with("hugepages-");
        let is_extended = name.contains('/') && is_qualified(name);
        let is_standard = COUNTED.contains(&name) || MEASURED.contains(&name) || has_huge_pages;
        if !is_standard && !is_extended {
            return Err(invalid(format!("spec.hard[{resource}]: is no resource that a quota can limit")));
        }
        if quantity.is_none_or(|quantity| quantity.is_negative()) {
            return Err(invalid(format!("spec.hard[{resource}]: must not be negative")));
        }
        let is_counted = COUNTED.contains(&name) || is_extended && !name.starts_with("requests.");
        if is_counted && quantity.is_some_and(|quantity| !quantity.is_whole()) {
            return Err(invalid(format!("spec.hard[{resource}]: must be a whole number")));
        }
    }
    Ok(())
}

/// Bounds of a limit that must not be above the next one, where both are given.
const ASCENDING: [&str; 4] = ["min", "defaultRequest", "default", "max"];

/// Checks `spec.limits` of a LimitRange.
pub(super) fn range(limits: &Value) -> Result<(), Error> {
    let mut types = BTreeSet::new();
    for limit in limits.as_array().into_iter().flatten() {
        let name = limit["type"].as_str().unwrap_or_default();
        if name.is_empty() || !types.insert(name) {
            return Err(invalid("spec.limits.type: is needed, and another one for each limit"));
        }
        if name == "Pod" && !(limit["default"].is_null() && limit["defaultRequest"].is_null()) {
            return Err(invalid("spec.limits: a Pod has no defaults"));
        }
        for (index, low) in ASCENDING.iter().enumerate() {
            for high in &ASCENDING[index + 1..] {
                ascends(limit, low, high)?;
            }
        }
    }
    Ok(())
}

fn ascends(limit: &Value, low: &str, high: &str) -> Result<(), Error> {
    for (resource, bound) in limit[low].as_object().into_iter().flatten() {
        if let (Some(below), Some(above)) = (read(bound), read(&limit[high][resource]))
            && below.is_above(&above)
        {
            return Err(invalid(format!("spec.limits.{low}[{resource}]: is above {high}")));
        }
    }
    Ok(())
}

fn read(quantity: &Value) -> Option<Quantity> {
    quantity.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_quota_limits_what_kubernetes_can_count_or_measure() {
        let good =
            ["pods", "limits.cpu", "requests.hugepages-2Mi", "count/jobs.batch", "requests.nvidia.com/gpu"];
        for resource in good {
            assert!(quota(&json!({resource: "2"})).is_ok(), "{resource}");
        }
        for resource in ["nonsense", "requests.pods", "a/b/c"] {
            assert!(quota(&json!({resource: "2"})).is_err(), "{resource}");
        }
        assert!(quota(&json!({"pods": "1500m"})).is_err());
        assert!(quota(&json!({"count/jobs.batch": "1500m"})).is_err());
        assert!(quota(&json!({"limits.cpu": "1500m"})).is_ok());
        assert!(quota(&json!({"limits.cpu": "-1"})).is_err());
    }

    #[test]
    fn the_bounds_of_a_limit_ascend() {
        let limit = |member: &str, value: &str| {
            let mut limit = json!({"type": "Container", "max": {"cpu": "2"}});
            limit[member]["cpu"] = value.into();
            range(&json!([limit]))
        };
        assert!(limit("min", "1500m").is_ok());
        assert!(limit("min", "2001m").is_err());
        assert!(limit("default", "3").is_err());
    }

    #[test]
    fn each_type_has_one_limit_and_a_pod_no_default() {
        let (pod, container) =
            (json!({"type": "Pod"}), json!({"type": "Container", "default": {"cpu": "1"}}));
        assert!(range(&json!([pod, container])).is_ok());
        assert!(range(&json!([pod, pod])).is_err());
        assert!(range(&json!([{"type": "Pod", "default": {"cpu": "1"}}])).is_err());
        assert!(range(&json!([{"max": {"cpu": "2"}}])).is_err(), "without a type");
    }
}
