//! Whether a cluster may be registered as it is, and why not.

use super::{CLOCK_SKEW_SECONDS_MAX, Findings, MINOR_VERSION_MIN, cluster_role};
use crate::name::ClusterId;
use crate::port::cluster::{self, ClusterUid, NAMESPACE_ROLE};
use crate::port::synchronizer;

/// What was seen of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Its version, its clock and its rights.
    pub findings: Findings,
    /// Which cluster it is: the UID of its `kube-system` namespace. None where the right to see
    /// it is missing, or a server that was asked does not tell.
    pub uid: Option<ClusterUid>,
    /// The other name under which it is registered.
    pub twin: Option<Twin>,
    /// What is known by its name, and what was found in its place; none where that is the same, or nothing is known.
    pub other: Option<Other>,
    /// Its kubeconfig leads to another endpoint than the accepted one. It may be registered so, and is not used until it is accepted.
    pub is_moved: bool,
}

/// Another cluster than the one that is known by a name, by the UIDs of their `kube-system` namespaces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the kubeconfig leads to another cluster ({}) than before ({})", found.0, known.0)]
pub struct Other {
    /// The one that is known.
    pub known: ClusterUid,
    /// The one that was found.
    pub found: ClusterUid,
}

impl Other {
    /// None where the one that is found is the one that is known.
    #[must_use]
    pub fn of(known: ClusterUid, found: ClusterUid) -> Option<Self> {
        (known != found).then_some(Self { known, found })
    }
}

/// A cluster that is registered under another name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the kubeconfig leads to the cluster that is registered as {first}")]
pub struct Twin {
    /// The name under which it is worked on.
    pub first: ClusterId,
}

/// Why a cluster is not ready to be registered by its name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unready {
    /// It is another one than is known by the name.
    #[error(transparent)]
    Other(#[from] Other),
    /// It is registered under another name.
    #[error(transparent)]
    Twin(#[from] Twin),
    /// Its version, its clock or its rights.
    #[error("not ready: {}", hindrances(.0))]
    Findings(Box<Findings>),
}

/// Why nothing is known of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The cluster refused or failed. It may come up later.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// The store could not be asked which cluster is known by the name.
    #[error(transparent)]
    Store(#[from] synchronizer::Error),
}

impl InspectError {
    /// True when the same look may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Cluster(source) => source.is_retryable(),
            Self::Store(source) => source.is_retryable(),
        }
    }
}

impl Inspection {
    /// True when logical clouds will work there, it is no other cluster than before, and its endpoint is accepted.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.is_moved && self.must_be_ready().is_ok()
    }

    /// Refuses a cluster that can't serve, another one than before, and one that is registered under another name. One whose endpoint is
    /// not accepted may be registered.
    ///
    /// # Errors
    /// [`Unready`].
    pub fn must_be_ready(&self) -> Result<(), Unready> {
        match (&self.other, &self.twin) {
            (_, Some(twin)) => Err(twin.clone().into()),
            (Some(other), None) => Err(other.clone().into()),
            (None, None) if !self.findings.is_ready() => {
                Err(Unready::Findings(Box::new(self.findings.clone())))
            }
            (None, None) => Ok(()),
        }
    }
}

/// All that is in the way, in one line.
fn hindrances(findings: &Findings) -> String {
    let mut told = Vec::new();
    if findings.too_old {
        told.push(format!("version {} is too old, 1.{MINOR_VERSION_MIN} is needed", findings.version));
    }
    if let Some(seconds) = findings.clock_skew_seconds.filter(|_| findings.is_skewed()) {
        told.push(skewed(seconds));
    }
    if !findings.missing.is_empty() {
        let role = cluster_role("dcm-missing", findings.missing.clone());
        let rules = serde_json::to_string(&role.rules).unwrap_or_default();
        told.push(format!("rights are missing, at least {rules}"));
    }
    if !findings.missing_in_namespaces.is_empty() {
        told.push(format!(
            "the ClusterRole {NAMESPACE_ROLE} is missing, or lacks rights; dcm cluster role prints it"
        ));
    }
    told.join("; ")
}

fn skewed(seconds: i64) -> String {
    let side = if seconds < 0 { "behind" } else { "ahead of" };
    let seconds = seconds.unsigned_abs();
    format!("its clock is {seconds} s {side} ours, and at most {CLOCK_SKEW_SECONDS_MAX} s are borne")
}
