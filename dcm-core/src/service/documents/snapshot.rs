//! What an apply froze.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;
use crate::logical_cloud::{ClusterReference, Epoch, LogicalCloudUid, Serial};
use crate::name::{LogicalCloudName, Namespace, ProjectName, UserName};
use crate::port::synchronizer::Condition;
use crate::service::caller::Change;

use super::{DocumentId, Schema};

/// A numbered, immutable copy of a logical cloud: the parts of one edit, and what was decided when it was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Snapshot {
    pub schema: Schema,
    pub number: u64,
    pub edit: u64,
    pub contents: DocumentId,
    /// The references that the selector of clusters added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<ClusterReference>,
    /// The cloud's namespace; an admin cloud's is that of its clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Which credential each user is to have.
    pub credentials: BTreeMap<UserName, CredentialId>,
    /// Digest of the fingerprints of its mesh's authorities; none without a mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<ContentHash>,
    /// On which it is handed over, whoever does that.
    #[serde(default, skip_serializing_if = "is_always")]
    pub condition: Condition,
    pub made: Change,
}

fn is_always(condition: &Condition) -> bool {
    *condition == Condition::Always
}

/// Which credential of a user one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct CredentialId {
    pub epoch: Epoch,
    pub serial: Serial,
}

impl Snapshot {
    /// True when both froze the same, whoever made them and when.
    pub(in crate::service) fn wants_the_same(&self, other: &Self) -> bool {
        self.contents == other.contents
            && self.selected == other.selected
            && self.namespace == other.namespace
            && self.credentials == other.credentials
            && self.authorities == other.authorities
    }
}

/// A logical cloud that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Deleted {
    pub schema: Schema,
    pub project: ProjectName,
    pub cloud: LogicalCloudName,
    pub uid: LogicalCloudUid,
    pub at: Timestamp,
}

/// The logical cloud that an app context belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct ContextOwner {
    pub schema: Schema,
    pub project: ProjectName,
    pub cloud: LogicalCloudName,
    pub uid: LogicalCloudUid,
}
