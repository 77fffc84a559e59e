//! Levels of Pod Security: which pods a namespace admits (Kubernetes documentation, "Pod Security Standards").

use std::str::FromStr;

/// A level of Pod Security, from the one that admits the most pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodSecurityLevel {
    /// No restriction: a pod can reach its node.
    Privileged,
    /// No privileged containers, and no paths, ports, processes and network of the node.
    #[default]
    Baseline,
    /// Current best practices for pods.
    Restricted,
}

/// A text that is no level of Pod Security.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be privileged, baseline or restricted")]
pub struct InvalidPodSecurityLevel;

impl PodSecurityLevel {
    /// The label of a namespace whose value is its level.
    pub const LABEL: &str = "pod-security.kubernetes.io/enforce";

    /// The label of a namespace whose value is the version of Kubernetes that defines the level.
    pub const VERSION_LABEL: &str = "pod-security.kubernetes.io/enforce-version";

    /// All levels, in their order.
    pub const ALL: [Self; 3] = [Self::Privileged, Self::Baseline, Self::Restricted];

    /// The value of the label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

impl FromStr for PodSecurityLevel {
    type Err = InvalidPodSecurityLevel;

    fn from_str(text: &str) -> Result<Self, InvalidPodSecurityLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or(InvalidPodSecurityLevel)
    }
}
