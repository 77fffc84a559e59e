//! How much a logical cloud may do.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::refusal::{Checks, Path};

/// How much a logical cloud may do on its clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A namespace of its own on each cluster, and nothing outside it.
    #[default]
    Standard,
    /// Also permissions in other namespaces and in the whole cluster.
    Privileged,
    /// Uses clusters as they are, with their registered credentials; nothing is changed in them.
    Admin,
}

impl Level {
    /// EMCO's one level for standard and privileged clouds: which of the two a cloud is, its permissions tell.
    pub const STANDARD_OR_PRIVILEGED: &str = "1";

    /// The level as documents spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Privileged => "privileged",
            Self::Admin => "admin",
        }
    }

    /// True when a text means an admin cloud.
    pub(crate) fn is_admin(text: Option<&str>) -> bool {
        matches!(text, Some("admin" | "0"))
    }

    /// Reads a level. `leaves_namespace` tells whether some permission holds outside the cloud's namespace: EMCO has
    /// one level, `1`, for both kinds of clouds.
    pub(super) fn check(
        text: Option<&str>,
        leaves_namespace: bool,
        at: &Path,
        checks: &mut Checks,
    ) -> Option<Self> {
        match text.unwrap_or("") {
            "" | "standard" => Some(Self::Standard),
            "privileged" => Some(Self::Privileged),
            "admin" | "0" => Some(Self::Admin),
            Self::STANDARD_OR_PRIVILEGED => {
                Some(if leaves_namespace { Self::Privileged } else { Self::Standard })
            }
            other => {
                checks.refuse(at, other, "must be standard, privileged or admin (or EMCO's 1 or 0)");
                None
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
