//! Orphans: objects on a cluster that carry our owner's mark, of app contexts that the store does not know. A store that
//! was lost leaves them. The engine never touches them; they are removed or released only when a person says so.

use serde::{Deserialize, Serialize};

use crate::app_context::Generation;
use crate::audit::{AuditedError, Told};
use crate::manifest::ObjectKey;
use crate::name::ContextId;
use crate::port::audit::Outcome;
use crate::port::{cluster, store, synchronizer};

/// Why orphans can't be listed or cleared.
#[derive(Debug, thiserror::Error)]
pub enum OrphanError {
    /// The cluster refused or failed.
    #[error("the cluster could not be looked through")]
    Cluster(#[from] cluster::Error),
    /// One of them could not be cleared; those before it were.
    #[error("{object} could not be cleared")]
    Object {
        /// Which one.
        object: ObjectKey,
        /// What happened.
        #[source]
        source: cluster::Error,
    },
    /// The store failed.
    #[error("the store could not be asked")]
    Store(#[from] synchronizer::Error),
    /// The audit log could not be written, so nothing was cleared.
    #[error("the audit log could not be written, and nothing was cleared")]
    Audit(#[source] store::Error),
}

impl OrphanError {
    /// True when the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Cluster(source) | Self::Object { source, .. } => source.is_retryable(),
            Self::Store(source) => source.is_retryable(),
            Self::Audit(source) => source.is_retryable(),
        }
    }
}

impl AuditedError for OrphanError {
    fn not_audited(source: store::Error) -> Self {
        Self::Audit(source)
    }

    fn is_refusal(&self) -> bool {
        match self {
            Self::Store(source) => source.is_refusal(),
            // Some may be cleared by then.
            Self::Cluster(_) | Self::Object { .. } | Self::Audit(_) => false,
        }
    }
}

/// What a cluster holds of app contexts that the store does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Orphans {
    /// The objects.
    pub orphans: Vec<Orphan>,
    /// What could not be looked through, and why: there may be more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}

impl Told for Orphans {
    /// Where nothing is found and not all may be looked through, nobody knows whether there is any.
    fn outcome(&self) -> Outcome {
        match (&*self.orphans, &*self.unseen) {
            ([], []) => Outcome::Unchanged,
            ([], [first, ..]) => {
                let message =
                    format!("{} kinds could not be looked through, such as {first}", self.unseen.len());
                Outcome::Failed { message }
            }
            _ => Outcome::Accepted { generation: None },
        }
    }
}

/// An object of an app context that the store does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Orphan {
    /// The app context, by the mark.
    pub context: ContextId,
    /// The object.
    pub object: ObjectKey,
    /// The generation in which it was last written.
    pub generation: Generation,
    /// What was done to it; none when it was only listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Cleared>,
}

/// What was done to an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cleared {
    /// It was deleted.
    Deleted,
    /// Our marks were taken off, and it stays: that was asked for, it was there before us, or it is a namespace with
    /// objects of others.
    Released,
}
