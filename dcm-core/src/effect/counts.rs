//! Keys of quotas by which nothing is counted.

use super::{WithoutEffect, intended, qualified};
use crate::manifest::Manifest;
use crate::port::resources::{Resources, ServedResource};

const COUNT: &str = "count/";

/// What ends the domain of a key about one class of devices, and the group of these classes.
const DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io";
const DEVICES: &str = "resource.k8s.io";

/// What the controller of quotas needs of a resource to count its objects (`pkg/controller/resourcequota` of Kubernetes 1.34).
const VERBS: [&str; 4] = ["create", "delete", "list", "watch"];

pub(super) fn without_effect(manifest: &Manifest, resources: &Resources) -> Vec<WithoutEffect> {
    let hard = manifest.body()["spec"]["hard"].as_object();
    let keys = hard.into_iter().flatten().map(|(key, _)| key);
    keys.filter_map(|key| Some(uncounted(key, resources)?.at(&format!("spec.hard.{key}")))).collect()
}

/// Why nothing is counted by a key.
fn uncounted(key: &str, resources: &Resources) -> Option<WithoutEffect> {
    let because =
        |why: &str| WithoutEffect { sentence: format!("nothing is counted, as {why}"), instead: None };
    let is_of_class = key.split_once('/').is_some_and(|(domain, _)| domain.ends_with(DEVICE_CLASS));
    if is_of_class && !resources.may_have_group(DEVICES) {
        return Some(because(&format!("the cluster does not serve the API group {DEVICES}")));
    }
    let counted = key.strip_prefix(COUNT)?;
    let (name, group) = counted.split_once('.').unwrap_or((counted, ""));
    let served: Vec<_> = resources.named(Some(group), name).collect();
    if served.is_empty() {
        let instead =
            intended(resources, &[group], name).filter(|intended| *intended != qualified(name, group));
        let because = because(&format!("the cluster does not serve {counted}"));
        return (!resources.unseen.contains_key(group)).then_some(WithoutEffect { instead, ..because });
    }
    if served.iter().all(|one| !one.is_namespaced) {
        return Some(because("these objects are in no namespace"));
    }
    let is_counted = |one: &&ServedResource| VERBS.iter().all(|verb| one.verbs.contains(*verb));
    (!served.iter().any(is_counted)).then(|| because(&format!("{counted} can't be listed and followed")))
}
