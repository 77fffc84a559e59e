//! A strong grant holds for the clusters and the namespace that it was made for.

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::{LogicalCloud, ServiceMesh};
use crate::name::ClusterId;
use crate::pod_security::PodSecurityLevel;
use crate::refusal::{Path, Refusal};

use super::Order;
use super::limits::Limits;

/// Labels of Pod Security by which a namespace only warns and records.
const POD_SECURITY_NOTES: [&str; 4] = [
    "pod-security.kubernetes.io/audit",
    "pod-security.kubernetes.io/audit-version",
    "pod-security.kubernetes.io/warn",
    "pod-security.kubernetes.io/warn-version",
];

/// Refuses to bring a cloud that holds something strong to another place: a further cluster, a selector that may select more, another
/// namespace.
pub(super) fn extended(
    limits: &Limits,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
    order: &Order,
) -> Option<Refusal> {
    let before = before?;
    let (path, value) = extension(before, after, order)?;
    let strong = strong(limits, after)?;
    let rule = format!(
        "a cloud can't be granted another cluster or namespace by this caller while it holds what only a platform admin grants \
         ({strong}): that holds for the clusters and the namespace that it was made for; ask a platform admin to make this change"
    );
    Some(Refusal { path, value, rule })
}

/// The field by which a cloud gets to another place, and its value.
fn extension(before: &LogicalCloud, after: &LogicalCloud, order: &Order) -> Option<(String, String)> {
    let spec = Path::root().field("spec");
    if before.namespace() != after.namespace() {
        let value = after.namespace().map(ToString::to_string);
        return Some((spec.field("namespace").to_string(), value.unwrap_or_default()));
    }
    let clusters: BTreeSet<&ClusterId> = before.references().iter().map(|one| &one.cluster).collect();
    let added = after.references().iter().find(|one| !clusters.contains(&one.cluster));
    if let Some(added) = added {
        let at = order.reference(&added.cluster).field("cluster");
        return Some((at.to_string(), added.cluster.to_string()));
    }
    let is_within = match (before.cluster_selector(), after.cluster_selector()) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(before), Some(after)) => after.is_within(before),
    };
    (!is_within).then(|| (spec.field("clusterSelector").to_string(), String::new()))
}

/// What of a cloud this caller could not make from nothing, in words.
fn strong(limits: &Limits, cloud: &LogicalCloud) -> Option<String> {
    let of_mesh = cloud.service_mesh().map(ServiceMesh::namespace);
    let mut namespaces = cloud.namespace().into_iter().chain(of_mesh);
    let namespace = namespaces.find(|name| limits.reserved.namespace(name.as_str()).is_some());
    let namespace = namespace.map(|name| format!("the namespace {name}"));
    let label = || strong_label(limits, cloud).map(|key| format!("the label {key}"));
    let permission = || {
        let mut permissions = cloud.permissions().iter();
        let strong = permissions.find(|one| limits.allow_list.excess(one, &Path::root()).is_some())?;
        Some(format!("the user permission {}", strong.metadata.name))
    };
    let manifest = || {
        let mut manifests = cloud.manifests().iter();
        let strong = manifests.find(|manifest| !limits.allow_list.allows_kind(manifest.kind()))?;
        Some(format!("the extra manifest {}", strong.key()))
    };
    let dns = || Some(format!("the zone {} of its mesh", limits.strong_dns(cloud)?.zone()));
    namespace.or_else(dns).or_else(label).or_else(permission).or_else(manifest)
}

/// A label that is not this caller's to set and is not as the limits have it, or stricter.
fn strong_label<'a>(limits: &'a Limits, cloud: &'a LogicalCloud) -> Option<&'a String> {
    let set: BTreeMap<&String, &String> =
        cloud.labels().iter().filter(|(key, _)| limits.guards(key)).collect();
    let keys: BTreeSet<&String> = limits.namespace_labels.keys().chain(set.keys().copied()).collect();
    keys.into_iter().find(|key| {
        let (found, wanted) = (set.get(key).map(|value| value.as_str()), limits.namespace_labels.get(*key));
        let is_note = wanted.is_none() && POD_SECURITY_NOTES.contains(&key.as_str());
        !is_note
            && found != wanted.map(String::as_str)
            && !is_stricter(key, found, wanted.map(String::as_str))
    })
}

/// True for a level of Pod Security that lets in less than another one. Where none is wanted, the cluster's own level holds, which may
/// be any: only the last one is as strict as each.
fn is_stricter(key: &str, found: Option<&str>, wanted: Option<&str>) -> bool {
    let level = |text: Option<&str>| text?.parse::<PodSecurityLevel>().ok();
    let is_stricter = match (level(found), level(wanted)) {
        (Some(found), Some(wanted)) => found > wanted,
        (Some(found), None) => found == PodSecurityLevel::Restricted,
        (None, _) => false,
    };
    key == PodSecurityLevel::LABEL && is_stricter
}
