//! Who works on a cluster, as it is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dcm_core::name::ContextId;
use dcm_core::port::cluster::{ClusterUid, Fence};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Schema;

/// Names one running engine; random, so that no two are ever the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(Arc<str>);

impl WorkerId {
    /// From 64 random bits.
    #[must_use]
    pub fn from_random(bits: u64) -> Self {
        Self(format!("{bits:016x}").into())
    }

    /// From a record's path.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who owns a cluster with all its lanes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Shard {
    pub schema: Schema,
    /// The owning worker's session; none when it was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<WorkerId>,
    pub fence: Fence,
    /// For how many milliseconds after it was given back requests without an answer can still take effect; 0: all are answered. No
    /// time of day, as clocks need not agree.
    #[serde(default, skip_serializing_if = "super::lane::is_zero")]
    pub unanswered_ms: u64,
    /// What the cluster said it is when it was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<ClusterUid>,
    /// Somebody has paused the work on it. Whoever owns it next sees that, as it changes this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

/// How far the work on a cluster is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pause {
    /// It was asked for: the owner may have requests under way.
    Asked,
    /// The owner has no request under way, and begins none.
    Quiet,
}

/// The session of a running worker. It lives as long as it changes; whoever sees it unchanged for the length of a
/// lease deletes it, and with it the worker's right to its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Worker {
    pub schema: Schema,
    pub beat: u64,
    /// When it was written, by the worker's own clock: for people. Leases don't rely on it.
    pub at: Timestamp,
    /// The worker takes every shard, not only those that its own caller waits for.
    pub serves: bool,
    /// How long the session lives unchanged, in milliseconds.
    pub lease_ms: u64,
    /// Paused app contexts of which the worker has no request under way, with the version of the root that it has seen.
    /// Told for a while: who waits for it hears of it then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quiet: BTreeMap<ContextId, u64>,
}
