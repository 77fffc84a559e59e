//! Logical clouds: their own documents, and what is done with them.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod instantiate;
pub(super) mod list;
pub(super) mod put;
pub(super) mod rules;
pub(super) mod status;
pub(super) mod stop;
pub(super) mod terminate;
pub(super) mod update;

use dcm_core::logical_cloud::{Level, LogicalCloud, Scope};
use dcm_core::service::{ApplyCondition, Described, Error};

use super::problem::Problem;

/// A logical cloud is in no cluster.
pub(super) fn no_references() -> Problem {
    Problem::bad_request("No Cluster References associated")
}

/// Refuses what EMCO brings to no cluster: a cloud with a namespace of its own, and no permission for that.
fn must_be_whole(cloud: &LogicalCloud) -> Result<(), Problem> {
    let is_own = |scope: &Scope| *scope == Scope::CloudNamespace;
    if cloud.level() != Level::Admin && !cloud.permissions().iter().any(|one| is_own(&one.scope)) {
        return Err(Problem::conflict(
            "Level-1 Logical Clouds require a User Permission assigned to its primary namespace",
        ));
    }
    Ok(())
}

/// Refuses a cloud in no cluster.
fn must_have_clusters(cloud: &LogicalCloud) -> Result<(), Problem> {
    if cloud.references().is_empty() && cloud.cluster_selector().is_none() {
        return Err(no_references());
    }
    Ok(())
}

/// Applies what was looked at, and nothing else.
fn as_looked_at(found: &Described) -> ApplyCondition {
    ApplyCondition { known: Some(vec![found.id()]), is_idle: true, ..ApplyCondition::default() }
}

/// An error of an apply: what breaks a rule is in no body.
fn of_apply(error: Error) -> Problem {
    match error {
        Error::Refused(refusals) => Problem::conflict(refusals.to_string()),
        error => error.into(),
    }
}
