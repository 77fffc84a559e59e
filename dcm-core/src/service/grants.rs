//! What only callers without limits may grant: rights that reach beyond a logical cloud's own namespaces, or that give more
//! rights.

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::{Draft, Level, LogicalCloud, Permission, UserType};
use crate::manifest::GroupVersionKind;
use crate::name::UserName;

use super::caller::{Caller, Limits};
use super::error::Error;

/// Verbs that stand for all others, or by which more rights are got than were given (Kubernetes documentation, "Role Based Access
/// Control Good Practices").
const VERBS: [&str; 4] = ["*", "bind", "escalate", "impersonate"];

/// Verbs that change nothing.
const READING: [&str; 3] = ["get", "list", "watch"];

/// What a Role in a namespace gives hold of, by group and resource, and by which whoever changes it reaches beyond that namespace, or
/// beyond what is allowed in it. Kubernetes' own role `admin`, which is for who has a namespace, may only read these.
///
/// - The namespace itself: a request for it is authorised *in* it. Its labels say which pods may run there
///   (`pod-security.kubernetes.io/enforce`), and its status and its end are written with them.
/// - Quotas and ranges of limits, and the status by which quotas are enforced: they are what a cloud may use.
/// - Addresses that nobody checks: traffic of load balancers and ingresses goes there, into other namespaces, too
///   (CVE-2021-25740); an address in a service's status takes the cluster's traffic to it (CVE-2020-8554).
const BEYOND: [(&str, &str); 9] = [
    ("", "namespaces"),
    ("", "namespaces/finalize"),
    ("", "namespaces/status"),
    ("", "resourcequotas"),
    ("", "resourcequotas/status"),
    ("", "limitranges"),
    ("", "endpoints"),
    ("", "services/status"),
    ("discovery.k8s.io", "endpointslices"),
];

/// Kinds of extra manifests by which as much is reached as by changing these.
const KINDS_BEYOND: [(&str, &str); 2] = [("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")];

/// Refuses a limited caller an edit that grants such rights: to whomever, on whichever cluster. What such a cloud has besides may
/// be edited.
pub(super) fn check(
    caller: &Caller,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
) -> Result<(), Error> {
    let granted = caller.limits().and_then(|limits| granted(limits, before, after));
    granted.map_or(Ok(()), |what| Err(Error::Forbidden { what }))
}

/// What a limited caller's edit gets where the draft does not name it: labels of the namespace that are not theirs to set, as they
/// are or, where there is no namespace of the cloud's yet, as the limits say.
pub(super) fn complete(caller: &Caller, before: Option<&LogicalCloud>, mut draft: Draft) -> Draft {
    let Some(limits) = caller.limits().filter(|_| !Level::is_admin(draft.spec.level.as_deref())) else {
        return draft;
    };
    for (key, value) in set_labels(limits, before) {
        draft.spec.labels.entry(key).or_insert(value);
    }
    draft
}

/// What an edit grants, or takes away, that only callers without limits may.
fn granted(limits: &Limits, before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    let is_as_before = || before.map(granting) == Some(granting(after));
    if after.level() != Level::Standard && !is_as_before() {
        return Some(format!("rights in a cloud of level {}", after.level().as_str()));
    }
    if after.object_policies().take_over() && !is_as_before() {
        return Some("what is on clusters already (objectPolicies)".to_owned());
    }
    changed_label(limits, before, after)
        .or_else(|| added_permission(before, after))
        .or_else(|| added_manifest(before, after))
}

/// A label that is not the caller's to set and is not as it has to be: it may limit what is in a namespace as well as allow it.
fn changed_label(limits: &Limits, before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    after.namespace()?;
    let (set, after) = (set_labels(limits, before), guarded(limits, after));
    let keys: BTreeSet<&String> = set.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().find(|key| set.get(*key) != after.get(*key));
    changed.map(|key| format!("the label {key} of a namespace"))
}

/// The labels that are not a limited caller's to set, as they have to be.
fn set_labels(limits: &Limits, before: Option<&LogicalCloud>) -> BTreeMap<String, String> {
    match before.filter(|cloud| cloud.namespace().is_some()) {
        Some(cloud) => guarded(limits, cloud),
        None => limits.namespace_labels.clone(),
    }
}

/// The labels of a cloud that are not a limited caller's to set: those of Kubernetes, and those that the limits name.
fn guarded(limits: &Limits, cloud: &LogicalCloud) -> BTreeMap<String, String> {
    let is_guarded = |key: &str| is_of_kubernetes(key) || limits.namespace_labels.contains_key(key);
    let labels = cloud.labels().iter().filter(|(key, _)| is_guarded(key));
    labels.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A strong permission that somebody did not have before, as they were. Extra manifests of a standard cloud have no rights in
/// them, and those of another level are looked at as a whole.
fn added_permission(before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    let held = before.map(holdings).unwrap_or_default();
    let added = holdings(after).into_iter().find(|holding| !held.contains(holding));
    added.map(|(permission, _)| {
        let what = strength(permission).unwrap_or_default();
        format!("{what} (user permission {})", permission.metadata.name)
    })
}

/// An extra manifest of such a kind that was not there before, as it is.
fn added_manifest(before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    let held = before.map(LogicalCloud::manifests).unwrap_or_default();
    let reaches = |kind: &GroupVersionKind| KINDS_BEYOND.contains(&(&*kind.group, &*kind.kind));
    let added = after.manifests().iter().find(|one| reaches(one.kind()) && !held.contains(one))?;
    Some(format!("{} {} among extra manifests", added.kind().kind, added.key().name))
}

/// Each strong permission, and each user who has it, by how they prove who they are.
fn holdings(cloud: &LogicalCloud) -> Vec<(&Permission, Option<(&UserName, &UserType)>)> {
    let strong = cloud.permissions().iter().filter(|permission| strength(permission).is_some());
    strong
        .flat_map(|permission| {
            let holders = cloud.users().iter().filter(|user| permission.holders.include(&user.metadata.name));
            let held = holders.map(move |user| (permission, Some((&user.metadata.name, &user.kind))));
            std::iter::once((permission, None)).chain(held)
        })
        .collect()
}

/// What makes a permission strong: a verb by itself, or one that changes what reaches beyond the namespace. Names of single objects
/// make it no weaker: that of the namespace may be among them.
fn strength(permission: &Permission) -> Option<String> {
    let verb = |verb: &str| format!("the verb {verb}");
    if let Some(strong) = VERBS.into_iter().find(|verb| permission.verbs.contains(*verb)) {
        return Some(verb(strong));
    }
    let changing = permission.verbs.iter().find(|verb| !READING.contains(&verb.as_str()))?;
    let reaches = |resource: &&String| BEYOND.iter().any(|beyond| includes(permission, resource, *beyond));
    let resource = permission.resources.iter().find(reaches)?;
    Some(format!("{} of {resource}", verb(changing)))
}

/// True when a permission, by a resource that it names, is about a resource of a group, as Kubernetes reads its rules.
fn includes(permission: &Permission, named: &str, (group, resource): (&str, &str)) -> bool {
    let is_all_of = |below: &str| named.strip_prefix("*/") == Some(below);
    let in_group = permission.api_groups.iter().any(|named| named == "*" || named == group);
    let is_below = resource.split_once('/').is_some_and(|(_, below)| is_all_of(below));
    in_group && (named == "*" || named == resource || is_below)
}

/// True for a label by which Kubernetes, or what extends it, decides what may be in a namespace, such as
/// `pod-security.kubernetes.io/enforce`.
fn is_of_kubernetes(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"].iter().any(|domain| {
        prefix.strip_suffix(domain).is_some_and(|below| below.is_empty() || below.ends_with('.'))
    })
}

/// All of a cloud but what grants nothing: its labels are those of its namespace, and webhooks and network policies go by them.
fn granting(cloud: &LogicalCloud) -> Draft {
    let mut draft = cloud.to_draft();
    draft.metadata.description.clear();
    draft.metadata.user_data1.clear();
    draft.metadata.user_data2.clear();
    draft.spec.quotas.clear();
    draft.spec.key_values.clear();
    draft
}
