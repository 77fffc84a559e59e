//! Looking at clusters before they are registered.

use async_trait::async_trait;
use dcm_core::logical_cloud::Level;
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::preflight::Findings;
use dcm_core::service::Registration;

/// Looks at clusters. Whoever wires the services knows how they are reached.
#[async_trait]
pub trait Inspector: Send + Sync + 'static {
    /// Looks at a cluster by what is to be registered of it: whether it is ready for logical clouds up to a level, and whether it is
    /// the one that is known by this name.
    ///
    /// # Errors
    /// When it can't be asked.
    async fn inspect(&self, registration: &Registration, level: Level) -> Result<Inspection, Error>;
}

/// What was seen of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Whether it is ready.
    pub findings: Findings,
    /// What is known by this name, and what was found in its place; none where that is the same, or nothing is known.
    pub other: Option<Other>,
}

/// Another cluster than the one that is known, by the UIDs of their `kube-system` namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The one that is known.
    pub known: ClusterUid,
    /// The one that was found.
    pub found: ClusterUid,
}
