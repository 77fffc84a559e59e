//! The audit log: every decision, with who made it and why.
//!
//! An entry has two halves. The first is written before the decision has any effect, and says who asks for what, about
//! what, and why; the second is written after it, and says what came of it.
//!
//! # Contract
//! - **First the half that asks.** Who can't write it must not do what it is about: nothing is changed that the log does not
//!   know of. A log that is gone stops changes, and no cluster.
//! - **Then the half that ends.** It may be missing: the call was cut off, or the log failed after the decision. Then what
//!   was asked for may have been done, in part or whole, and the entry says so by having no end. Written once more before
//!   the effect and not after it, an outcome could only be a promise; so there is no order without this gap, and this one
//!   errs towards an entry too many.
//! - **Append-only.** No entry is ever replaced. Old ones go as a whole, when their time to be kept is over.
//! - **What an engine decides by itself** nobody asks for. It is kept once it was decided, as by somebody called `engine`: no
//!   log that is gone stops an engine.
//! - **No secret** is in an entry: it holds names, texts of the caller and what a refusal says.
//!
//! What the engine then did to clusters is not here: its events tell it, and the API server's own audit log, whose entries
//! carry a User-Agent with owner, app context and generation. [`Decision::context`] and [`Outcome::Accepted`] name the
//! same two, and join them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::store;
use crate::app_context::Generation;
use crate::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};

/// Longest text about a part or an outcome that is kept, in characters.
pub const TEXT_MAX: usize = 512;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Documents of a logical cloud are to be made or changed.
    Put,
    /// A logical cloud is to be brought to its clusters.
    Apply,
    /// A logical cloud is to be taken off its clusters.
    Terminate,
    /// The work on a logical cloud is to pause.
    Stop,
    /// The work on a logical cloud is to go on.
    Resume,
    /// Credentials are to be renewed.
    Renew,
    /// All that was issued for a user is to lose its rights.
    Revoke,
    /// What the store holds is to be taken as the truth.
    Reconcile,
    /// A kubeconfig or a credential of a user is to be handed out.
    HandOut,
    /// A logical cloud is to be deleted.
    Delete,
    /// A project is to be made or changed.
    PutProject,
    /// A project is to be deleted.
    DeleteProject,
    /// A cluster provider is to be made or changed.
    PutProvider,
    /// A cluster provider is to be deleted.
    DeleteProvider,
    /// The record of a controller is to be made or changed.
    PutController,
    /// The record of a controller is to be deleted.
    DeleteController,
    /// A cluster is to be registered.
    RegisterCluster,
    /// What is registered of a cluster is to be changed.
    UpdateCluster,
    /// A cluster is to be registered no more.
    RemoveCluster,
    /// Another cluster is to be taken as the one that a name stands for.
    AcceptCluster,
    /// All work on a cluster is to pause.
    StopCluster,
    /// The work on a cluster is to go on.
    ResumeCluster,
    /// Orphans of an app context are to be deleted or released.
    ClearOrphans,
    /// Remove identities that a logical cloud has no right for any more from the bindings of other clients.
    RemoveBindings,
    /// The engine waits no more for a cluster from which something is to be taken off, as its deadline is over.
    Abandon,
    /// The engine lets an object be for a while that somebody else changes each time it is brought back.
    GiveUpContest,
    /// The engine takes a cluster over from a worker that gave no sign of life.
    TakeOver,
    /// The engine does nothing before somebody has decided: the store is behind, a cluster is another one, or is not as it was
    /// when a change was planned.
    Halt,
}

impl Action {
    /// All there are.
    pub const ALL: [Self; 28] = [
        Self::Put,
        Self::Apply,
        Self::Terminate,
        Self::Stop,
        Self::Resume,
        Self::Renew,
        Self::Revoke,
        Self::Reconcile,
        Self::HandOut,
        Self::Delete,
        Self::PutProject,
        Self::DeleteProject,
        Self::PutProvider,
        Self::DeleteProvider,
        Self::PutController,
        Self::DeleteController,
        Self::RegisterCluster,
        Self::UpdateCluster,
        Self::RemoveCluster,
        Self::AcceptCluster,
        Self::StopCluster,
        Self::ResumeCluster,
        Self::ClearOrphans,
        Self::RemoveBindings,
        Self::Abandon,
        Self::GiveUpContest,
        Self::TakeOver,
        Self::Halt,
    ];
}

/// The half that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub who: String,
    /// The reason; empty when none was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What the caller calls the request; empty when nothing was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// What.
    pub action: Action,
    /// About what.
    #[serde(flatten)]
    pub about: About,
    /// The app context of the logical cloud, as clusters know it; none for one that is not there yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextId>,
}

/// What a decision is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// The logical cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<LogicalCloudName>,
    /// Its users.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub users: BTreeSet<UserName>,
    /// The cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// The clusters, where it is about several, or about what a user has on them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub clusters: BTreeSet<ClusterId>,
    /// Which part, or in which way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The half that ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DecisionEnding"))]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// When.
    pub at: Timestamp,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// It was accepted.
    Accepted {
        /// The generation of the app context that brings it to clusters; none where nothing is brought to any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<Generation>,
    },
    /// It was so already.
    Unchanged,
    /// A rule is against it, and nothing was changed.
    Refused {
        /// Which.
        message: String,
    },
    /// It failed on the way; asking again is safe.
    Failed {
        /// What happened.
        message: String,
    },
}

/// Names an entry that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryId(store::Path);

impl EntryId {
    /// The entry whose halves lie below a path.
    #[must_use]
    pub fn at(path: store::Path) -> Self {
        Self(path)
    }

    /// Where its halves lie.
    #[must_use]
    pub fn path(&self) -> &store::Path {
        &self.0
    }
}

/// Keeps decisions. The contract is in the [module's documentation](self).
#[async_trait]
pub trait AuditLog: Send + Sync + 'static {
    /// Writes the half that asks.
    ///
    /// # Errors
    /// Those of what it is kept in. The decision must not be made then.
    async fn begin(&self, decision: &Decision) -> Result<EntryId, store::Error>;

    /// Writes the half that ends.
    ///
    /// # Errors
    /// Those of what it is kept in. The decision is made all the same.
    async fn end(&self, entry: &EntryId, ending: &Ending) -> Result<(), store::Error>;
}
