//! What only callers without limits may grant: rights that reach beyond a logical cloud's own namespaces, or that give more
//! rights.

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::{Draft, Level, LogicalCloud, Permission, UserType};
use crate::name::UserName;

use super::caller::Caller;
use super::error::Error;

/// Verbs that stand for all others, or by which more rights are got than were given (Kubernetes documentation, "Role Based Access
/// Control Good Practices").
const VERBS: [&str; 4] = ["*", "bind", "escalate", "impersonate"];

/// Refuses a limited caller an edit that grants such rights: to whomever, on whichever cluster. What such a cloud has besides may
/// be edited.
pub(super) fn check(
    caller: &Caller,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
) -> Result<(), Error> {
    match granted(before, after) {
        Some(what) if caller.is_limited() => Err(Error::Forbidden { what }),
        _ => Ok(()),
    }
}

/// What an edit grants, or takes away, that only callers without limits may.
fn granted(before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    let is_as_before = || before.map(granting) == Some(granting(after));
    if after.level() != Level::Standard && !is_as_before() {
        return Some(format!("rights in a cloud of level {}", after.level().as_str()));
    }
    if after.object_policies().take_over() && !is_as_before() {
        return Some("what is on clusters already (objectPolicies)".to_owned());
    }
    changed_label(before, after).or_else(|| added_verb(before, after))
}

/// A label of Kubernetes that comes, goes or changes: it may limit what is in a namespace as well as allow it.
fn changed_label(before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    let labels = |cloud: &LogicalCloud| -> BTreeMap<String, String> {
        let own = cloud.labels().iter().filter(|(key, _)| is_of_kubernetes(key));
        own.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (before, after) = (before.map(labels).unwrap_or_default(), labels(after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().find(|key| before.get(*key) != after.get(*key));
    changed.map(|key| format!("the label {key} of a namespace"))
}

/// A permission with such a verb that somebody did not have before, as they were. Extra manifests of a standard cloud have no rights in
/// them, and those of another level are looked at as a whole.
fn added_verb(before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<String> {
    let held = before.map(holdings).unwrap_or_default();
    let added = holdings(after).into_iter().find(|holding| !held.contains(holding));
    added.map(|(permission, _)| {
        let verb = strong_verb(permission).unwrap_or_default();
        format!("the verb {verb} (user permission {})", permission.metadata.name)
    })
}

/// Each permission with such a verb, and each user who has it, by how they prove who they are.
fn holdings(cloud: &LogicalCloud) -> Vec<(&Permission, Option<(&UserName, &UserType)>)> {
    let strong = cloud.permissions().iter().filter(|permission| strong_verb(permission).is_some());
    strong
        .flat_map(|permission| {
            let holders = cloud.users().iter().filter(|user| permission.holders.include(&user.metadata.name));
            let held = holders.map(move |user| (permission, Some((&user.metadata.name, &user.kind))));
            std::iter::once((permission, None)).chain(held)
        })
        .collect()
}

fn strong_verb(permission: &Permission) -> Option<&'static str> {
    VERBS.into_iter().find(|verb| permission.verbs.contains(*verb))
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
