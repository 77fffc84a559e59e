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
    // Its extra manifests have no rights in them: a standard cloud's may not.
    cloud.permissions().iter().find_map(|permission| {
        let verb = VERBS.iter().find(|verb| permission.verbs.contains(**verb))?;
        Some(format!("the verb {verb} (user permission {})", permission.metadata.name))
    })
}

/// All of a cloud but what grants nothing.
fn granting(cloud: &LogicalCloud) -> Draft {
    let mut draft = cloud.to_draft();
    draft.metadata.description.clear();
    draft.metadata.user_data1.clear();
    draft.metadata.user_data2.clear();
    draft.spec.labels.clear();
    draft.spec.quotas.clear();
    draft.spec.key_values.clear();
    draft
}
