//! Numbers with a fraction in the kinds that Kubernetes brings along: their numbers are integers, but for quantities, and the API server
//! refuses an object with a fraction anywhere else.

use serde_json::Value;

use crate::manifest::{GroupVersionKind, Manifest};
use crate::refusal::{Path, REFUSALS_MAX};
use crate::shape::is_plain;

/// The API groups of namespaced kinds that Kubernetes brings along. A custom resource may have numbers of any kind.
const GROUPS: [&str; 10] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "policy",
    "storage.k8s.io",
];

/// Members whose own members are quantities: of containers, pods, claims and quotas.
const OF_QUANTITIES: [&str; 5] = ["capacity", "hard", "limits", "overhead", "requests"];

/// Members of a LimitRange whose own members are quantities.
const OF_LIMIT_RANGES: [&str; 5] = ["default", "defaultRequest", "max", "maxLimitRequestRatio", "min"];

/// Members that are quantities: of volumes, and of environments of containers.
const QUANTITIES: [&str; 4] = ["capacity", "divisor", "maximumVolumeSize", "sizeLimit"];

/// Members of an autoscaler that are quantities.
const OF_AUTOSCALERS: [&str; 5] = ["averageValue", "targetAverageValue", "targetValue", "tolerance", "value"];

/// The paths of numbers with a fraction where the kind has none; at most [`REFUSALS_MAX`].
pub(super) fn misplaced(manifest: &Manifest) -> Vec<Path> {
    let kind = manifest.kind();
    let is_any = &*kind.group == "apps" && &*kind.kind == "ControllerRevision";
    if !GROUPS.contains(&&*kind.group) || is_any {
        return Vec::new();
    }
    let mut found = Vec::new();
    find(manifest.body(), &Path::root(), &Above { kind, outer: "", own: "" }, &mut found);
    found
}

/// The members that a value is in.
struct Above<'m> {
    kind: &'m GroupVersionKind,
    outer: &'m str,
    own: &'m str,
}

impl Above<'_> {
    /// True where a number is a quantity.
    fn is_quantity(&self) -> bool {
        let kind = &*self.kind.kind;
        OF_QUANTITIES.contains(&self.outer)
            || QUANTITIES.contains(&self.own)
            || (kind == "LimitRange" && OF_LIMIT_RANGES.contains(&self.outer))
            || (&*self.kind.group == "autoscaling" && OF_AUTOSCALERS.contains(&self.own))
    }
}

fn find(value: &Value, at: &Path, above: &Above<'_>, found: &mut Vec<Path>) {
    match value {
        Value::Number(number) if number.is_f64() && !above.is_quantity() && found.len() < REFUSALS_MAX => {
            found.push(at.clone());
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find(item, &at.item(index), above, found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let at = if is_plain(key) { at.field(key) } else { at.key(key) };
                find(member, &at, &Above { kind: above.kind, outer: above.own, own: key }, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn misplaced_in(body: Value) -> Option<String> {
        let found = misplaced(&Manifest::new(body).unwrap());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }

    #[test]
    fn a_fraction_is_misplaced_but_in_a_quantity() {
        let object = |api_version: &str, kind: &str, spec: Value| {
            misplaced_in(
                json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}),
            )
        };
        for (api_version, kind, spec, found) in [
            ("apps/v1", "Deployment", json!({"replicas": 2.5}), Some("spec.replicas")),
            (
                "v1",
                "Service",
                json!({"ports": [{"port": 80.1}, {"port": 80}, {"port": 80.5}]}),
                Some("spec.ports[0].port, spec.ports[2].port"),
            ),
            ("policy/v1", "PodDisruptionBudget", json!({"minAvailable": 0.5}), Some("spec.minAvailable")),
            (
                "v1",
                "Pod",
                json!({"containers": [{"env": [{"value": 1.5}]}]}),
                Some("spec.containers[0].env[0].value"),
            ),
            ("v1", "Pod", json!({"containers": [{"resources": {"limits": {"cpu": 0.5}}}]}), None),
            ("v1", "Pod", json!({"volumes": [{"emptyDir": {"sizeLimit": 1.5}}]}), None),
            ("v1", "ResourceQuota", json!({"hard": {"requests.cpu": 1.5}}), None),
            ("v1", "LimitRange", json!({"limits": [{"max": {"cpu": 1.5}, "type": "Container"}]}), None),
            (
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                json!({"metrics": [{"resource": {"target": {"averageValue": 0.5}}}]}),
                None,
            ),
            (
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                json!({"behavior": {"scaleDown": {"tolerance": 0.05}}}),
                None,
            ),
            ("example.com/v1", "Widget", json!({"ratio": 0.5}), None),
            ("apps/v1", "Deployment", json!({"replicas": 2.0}), None),
        ] {
            assert_eq!(object(api_version, kind, spec.clone()).as_deref(), found, "{kind} {spec}");
        }
        let metadata = json!({"name": "a", "annotations": {"a.b/c": 1.5}});
        let annotated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        assert_eq!(misplaced_in(annotated).as_deref(), Some(r#"metadata.annotations["a.b/c"]"#));
    }
}
