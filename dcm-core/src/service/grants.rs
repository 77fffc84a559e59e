//! What only callers without limits may grant: rights that reach beyond a logical cloud's own namespaces, or that give more
//! rights.

use crate::logical_cloud::{Draft, Level, LogicalCloud};

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
    match beyond_limits(after) {
        Some(what) if caller.is_limited() && before.map(granting) != Some(granting(after)) => {
            Err(Error::Forbidden { what })
        }
        _ => Ok(()),
    }
}

/// What of a cloud only callers without limits may grant.
fn beyond_limits(cloud: &LogicalCloud) -> Option<String> {
    if cloud.level() != Level::Standard {
        return Some(format!("rights in a cloud of level {}", cloud.level().as_str()));
    }
    if cloud.object_policies().take_over() {
        return Some("what is on clusters already (objectPolicies)".to_owned());
    }
    if let Some(key) = cloud.labels().keys().find(|key| is_of_kubernetes(key)) {
        return Some(format!("the label {key} of a namespace"));
    }
    // Its extra manifests have no rights in them: a standard cloud's may not.
    cloud.permissions().iter().find_map(|permission| {
        let verb = VERBS.iter().find(|verb| permission.verbs.contains(**verb))?;
        Some(format!("the verb {verb} (user permission {})", permission.metadata.name))
    })
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
