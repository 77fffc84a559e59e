//! Which keys of a ResourceQuota Kubernetes counts.
//!
//! An API server accepts any qualified name as a key, and counts only what one of its evaluators knows (`pkg/quota/v1/evaluator/core` of
//! Kubernetes 1.34). A quota with another key limits nothing, so it is refused here, with the key that would be counted.

/// Resources of containers without a domain, of which the quantities may have fractions.
const AMOUNTS: [&str; 10] = [
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

/// Keys without a domain that count objects.
const COUNTS: [&str; 9] = [
    "pods",
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
];

/// Resources of the core group that namespaces hold: `count/` has no group after them.
const CORE: [&str; 12] = [
    "configmaps",
    "endpoints",
    "events",
    "limitranges",
    "persistentvolumeclaims",
    "pods",
    "podtemplates",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "serviceaccounts",
    "services",
];

/// Resources of other groups of Kubernetes that namespaces hold, each with its group.
const GROUPED: [(&str, &str); 19] = [
    ("controllerrevisions", "apps"),
    ("daemonsets", "apps"),
    ("deployments", "apps"),
    ("replicasets", "apps"),
    ("statefulsets", "apps"),
    ("horizontalpodautoscalers", "autoscaling"),
    ("cronjobs", "batch"),
    ("jobs", "batch"),
    ("leases", "coordination.k8s.io"),
    ("endpointslices", "discovery.k8s.io"),
    ("ingresses", "networking.k8s.io"),
    ("networkpolicies", "networking.k8s.io"),
    ("poddisruptionbudgets", "policy"),
    ("rolebindings", "rbac.authorization.k8s.io"),
    ("roles", "rbac.authorization.k8s.io"),
    ("resourceclaims", "resource.k8s.io"),
    ("resourceclaimtemplates", "resource.k8s.io"),
    ("csistoragecapacities", "storage.k8s.io"),
    ("volumesnapshots", "snapshot.storage.k8s.io"),
];

const COUNT: &str = "count/";
const REQUESTS: &str = "requests.";
const LIMITS: &str = "limits.";
const HUGE_PAGES: &str = "hugepages-";

/// What ends the domain of a key about one storage class, and what can be counted of it.
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io";
const OF_STORAGE_CLASS: [&str; 2] = ["requests.storage", "persistentvolumeclaims"];

/// The same of one class of devices.
const DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io";
const DEVICES: &str = "devices";

/// Domains of resources that are no extended ones.
const NATIVE: &str = "kubernetes.io/";

/// Why Kubernetes would never count by this key, as a rule with the key that it would count by; none where it counts.
pub(super) fn uncounted(key: &str) -> Option<String> {
    if let Some(resource) = key.strip_prefix(COUNT) {
        return uncounted_objects(resource);
    }
    let Some((domain, name)) = key.split_once('/') else { return uncounted_without_domain(key) };
    if domain.ends_with(STORAGE_CLASS) {
        return (!OF_STORAGE_CLASS.contains(&name)).then(|| {
            format!(
                "is never counted: of a storage class, a quota counts {domain}/{} and {domain}/{}",
                OF_STORAGE_CLASS[0], OF_STORAGE_CLASS[1]
            )
        });
    }
    if domain.ends_with(DEVICE_CLASS) {
        return (name != DEVICES)
            .then(|| format!("is never counted: of a class of devices, a quota counts {domain}/{DEVICES}"));
    }
    let resource = key.strip_prefix(REQUESTS).or_else(|| key.strip_prefix(LIMITS)).unwrap_or(key);
    if resource.contains(NATIVE) {
        return Some(format!("is never counted: a resource in the domain {NATIVE} is no extended resource"));
    }
    (!key.starts_with(REQUESTS))
        .then(|| format!("is never counted: of an extended resource, a quota counts {REQUESTS}{resource}"))
}

fn uncounted_objects(resource: &str) -> Option<String> {
    let counted =
        |right: &str| Some(format!("is never counted: a quota counts these objects as {COUNT}{right}"));
    let grouped = |name: &str| GROUPED.iter().find(|(plural, _)| is_of(name, plural));
    let Some((name, group)) = resource.split_once('.') else {
        if CORE.contains(&resource) {
            return None;
        }
        if let Some(plural) = CORE.iter().find(|plural| is_of(resource, plural)) {
            return counted(plural);
        }
        return match grouped(resource) {
            Some((plural, group)) => counted(&format!("{plural}.{group}")),
            None => Some(format!(
                "is never counted: a quota counts objects as {COUNT}RESOURCE.GROUP, with the resource in the plural"
            )),
        };
    };
    // What other groups serve is known to a cluster alone.
    let (plural, of) = grouped(name)?;
    (group == *of && name != *plural).then(|| counted(&format!("{plural}.{of}"))).flatten()
}

/// True for a plural, its singular, and any of both as a kind is written.
fn is_of(name: &str, plural: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let singular = plural.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let singular = singular.or_else(|| plural.strip_suffix("sses").map(|stem| format!("{stem}ss")));
    let singular = singular.unwrap_or_else(|| plural.strip_suffix('s').unwrap_or(plural).to_owned());
    name == plural || name == singular
}

fn uncounted_without_domain(key: &str) -> Option<String> {
    let plain = key.strip_prefix(REQUESTS).unwrap_or(key);
    if AMOUNTS.contains(&key) || COUNTS.contains(&key) || plain.starts_with(HUGE_PAGES) {
        return None;
    }
    if CORE.contains(&key) {
        return Some(format!("is never counted: a quota counts these objects as {COUNT}{key}"));
    }
    if let Some((plural, group)) = GROUPED.iter().find(|(plural, _)| is_of(key, plural)) {
        return Some(format!("is never counted: a quota counts these objects as {COUNT}{plural}.{group}"));
    }
    Some("is no ResourceQuota key: without a domain it must be one that Kubernetes knows".to_owned())
}

/// True where the quantity must be whole: of objects and devices, and, as the API server has it, of each key with a domain.
pub(super) fn is_whole(key: &str) -> bool {
    let has_domain = key.contains('/') && !key.contains(NATIVE);
    COUNTS.contains(&key) || has_domain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_evaluator_knows_is_counted() {
        for key in [
            "pods",
            "requests.storage",
            "hugepages-2Mi",
            "requests.hugepages-1Gi",
            "requests.nvidia.com/gpu",
            "requests.intel.com/sriov_netdevice",
            "gold.storageclass.storage.k8s.io/requests.storage",
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
            "gpus.deviceclass.resource.k8s.io/devices",
            "count/pods",
            "count/serviceaccounts",
            "count/deployments.apps",
            "count/ingresses.networking.k8s.io",
            "count/deployments.example.com",
            "count/widgets.example.com",
        ] {
            assert_eq!(uncounted(key), None, "{key}");
        }
    }

    #[test]
    fn what_is_never_counted_is_named_with_the_key_that_is() {
        for (key, right) in [
            ("nvidia.com/gpu", "requests.nvidia.com/gpu"),
            ("limits.nvidia.com/gpu", "requests.nvidia.com/gpu"),
            ("amd.com/gpu", "requests.amd.com/gpu"),
            ("requests.kubernetes.io/gpu", "no extended resource"),
            ("count/deployments", "count/deployments.apps"),
            ("count/deployment.apps", "count/deployments.apps"),
            ("count/Deployment.apps", "count/deployments.apps"),
            ("count/networkpolicy.networking.k8s.io", "count/networkpolicies.networking.k8s.io"),
            ("count/ingress", "count/ingresses.networking.k8s.io"),
            ("count/pod", "count/pods"),
            ("count/widgets", "count/RESOURCE.GROUP"),
            ("deployments", "count/deployments.apps"),
            ("serviceaccounts", "count/serviceaccounts"),
            ("gold.storageclass.storage.k8s.io/storage", "gold.storageclass.storage.k8s.io/requests.storage"),
            ("gpus.deviceclass.resource.k8s.io/count", "gpus.deviceclass.resource.k8s.io/devices"),
            ("storage", "one that Kubernetes knows"),
        ] {
            let rule = uncounted(key).unwrap_or_default();
            assert!(
                rule.ends_with(right)
                    || rule.contains(&format!("{right} "))
                    || rule.contains(&format!("{right},")),
                "{key}: {rule}"
            );
        }
    }

    #[test]
    fn objects_and_devices_are_whole() {
        for key in [
            "pods",
            "count/jobs.batch",
            "requests.nvidia.com/gpu",
            "g.storageclass.storage.k8s.io/requests.storage",
        ] {
            assert!(is_whole(key), "{key}");
        }
        for key in ["cpu", "requests.storage", "hugepages-2Mi"] {
            assert!(!is_whole(key), "{key}");
        }
    }
}
