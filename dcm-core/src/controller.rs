//! Controllers: external programs that may be called when an app context is made. What is here is only written down; nobody is
//! called.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::logical_cloud::{Metadata, MetadataDraft};
use crate::name::ControllerName;
use crate::refusal::{Checks, Path, Refusals};

/// Longest host, in characters (EMCO's limit).
pub const HOST_MAX: usize = 128;

/// Highest priority (EMCO's limit). The lowest number is called first.
pub const PRIORITY_MAX: i64 = 100;

/// Who calls a controller. A name is unique in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerGroup {
    /// Whoever brings applications to clusters.
    Orchestrator,
    /// Whoever registers clusters.
    Cluster,
}

impl ControllerGroup {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Orchestrator, Self::Cluster];

    /// Its name, as in the JSON form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Cluster => "cluster",
        }
    }

    /// The group of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.as_str() == name)
    }
}

impl fmt::Display for ControllerGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a controller does when it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerType {
    /// It chooses clusters.
    Placement,
    /// It changes what goes to them.
    Action,
}

impl ControllerType {
    /// Its name, as in the JSON form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Placement => "placement",
            Self::Action => "action",
        }
    }
}

/// The record of a controller, as it is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControllerDraft {
    /// Its name, and what people wrote about it.
    pub metadata: MetadataDraft,
    /// The host that it listens on.
    pub host: String,
    /// The port.
    pub port: i64,
    /// `placement` or `action`; empty for one that is only called by its name.
    pub kind: String,
    /// In which order those of one type are called: the lowest first.
    pub priority: i64,
}

/// The record of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControllerRecord {
    /// Its name, and what people wrote about it.
    pub metadata: Metadata<ControllerName>,
    /// Where it is, and when it is called.
    pub spec: ControllerSpec,
}

/// Where a controller is, and when it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ControllerSpec {
    /// The host that it listens on.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What it does; none for one that is only called by its name.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ControllerType>,
    /// In which order those of one type are called: the lowest first.
    pub priority: u8,
}

impl TryFrom<ControllerDraft> for ControllerRecord {
    type Error = Refusals;

    fn try_from(draft: ControllerDraft) -> Result<Self, Refusals> {
        let mut checks = Checks::default();
        let at = Path::root().field("spec");
        let ControllerDraft { metadata, host, port, kind, priority } = draft;
        let metadata = match Metadata::try_from(metadata) {
            Ok(metadata) => Some(metadata),
            Err(refusals) => {
                let root = Path::root().field("metadata");
                refusals
                    .into_iter()
                    .for_each(|one| checks.refuse(&root.field(&one.path), &one.value, one.rule));
                None
            }
        };
        let is_host =
            (1..=HOST_MAX).contains(&host.len()) && host.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_host {
            let rule = format!("must be a host name or an address of at most {HOST_MAX} characters");
            checks.refuse(&at.field("host"), &host, rule);
        }
        let port = number(port, i64::from(u16::MAX), &at.field("port"), &mut checks);
        let priority = number(priority, PRIORITY_MAX, &at.field("priority"), &mut checks);
        let kind = kind_of(&kind, &at.field("type"), &mut checks);
        let made = move || {
            let spec = ControllerSpec { host, port: port?, kind, priority: priority? };
            Some(Self { metadata: metadata?, spec })
        };
        checks.finish(made())
    }
}

/// A number from 0 on.
fn number<N: TryFrom<i64>>(given: i64, most: i64, at: &Path, checks: &mut Checks) -> Option<N> {
    if !(0..=most).contains(&given) {
        checks.refuse(at, &given.to_string(), format!("must be from 0 to {most}"));
        return None;
    }
    N::try_from(given).ok()
}

fn kind_of(text: &str, at: &Path, checks: &mut Checks) -> Option<ControllerType> {
    match text {
        "" => None,
        "placement" => Some(ControllerType::Placement),
        "action" => Some(ControllerType::Action),
        other => {
            checks.refuse(at, other, "must be placement or action, or left out");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> ControllerDraft {
        let metadata = MetadataDraft::named("hpa");
        ControllerDraft { metadata, host: "hpa.example".into(), port: 9091, ..ControllerDraft::default() }
    }

    #[test]
    fn all_that_is_wrong_with_a_record_is_told_at_once() {
        let long = "h".repeat(HOST_MAX + 1);
        let bad = ControllerDraft {
            metadata: MetadataDraft::named("two words"),
            host: long,
            port: 65_536,
            kind: "Action".into(),
            priority: -1,
        };
        let paths: Vec<String> =
            ControllerRecord::try_from(bad).unwrap_err().into_iter().map(|refusal| refusal.path).collect();
        assert_eq!(paths, ["metadata.name", "spec.host", "spec.port", "spec.priority", "spec.type"]);
        for host in ["", "two words", "höst"] {
            assert!(ControllerRecord::try_from(ControllerDraft { host: host.into(), ..draft() }).is_err());
        }
    }

    #[test]
    fn a_type_has_one_name_everywhere() {
        for kind in [ControllerType::Placement, ControllerType::Action] {
            let made = ControllerRecord::try_from(ControllerDraft { kind: kind.as_str().into(), ..draft() });
            assert_eq!(made.unwrap().spec.kind, Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!(ControllerRecord::try_from(draft()).unwrap().spec.kind, None);
        for group in ControllerGroup::ALL {
            assert_eq!(ControllerGroup::from_name(group.as_str()), Some(group));
            assert_eq!(serde_json::to_value(group).unwrap(), group.as_str());
        }
    }
}
