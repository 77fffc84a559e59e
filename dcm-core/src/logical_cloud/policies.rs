//! What is done about objects when others made or change them: about those of a kind, or about one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::app_context::{Drift, Existing};
use crate::fields::FieldPath;
use crate::manifest::GroupVersionKind;
use crate::refusal::{Checks, Path};

use super::draft::ObjectPolicyDraft;
use super::limits;

/// Names objects: `Role` those of a kind in every API group, `Role.rbac.authorization.k8s.io` in one; `Role/reader` the one of
/// that name, as it is called on clusters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyTarget(String);

impl PolicyTarget {
    fn check(text: &str, at: &Path, checks: &mut Checks) -> Option<Self> {
        let (kind, name) = text.split_once('/').unwrap_or((text, "name"));
        let (kind, group) = kind.split_once('.').unwrap_or((kind, "group"));
        let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase())
            && kind.chars().all(|character| character.is_ascii_alphanumeric());
        let is_group = group.split('.').all(is_label);
        let is_name = !name.is_empty() && name.bytes().all(is_of_name);
        if !(is_kind && is_group && is_name) || text.len() > limits::POLICY_TARGET_BYTES_MAX {
            checks.refuse(
                at,
                "",
                "must be a kind such as Role, with its API group such as Certificate.cert-manager.io, or an object such as \
                 Role/reader",
            );
            return None;
        }
        Some(Self(text.to_owned()))
    }
}

fn is_label(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_plain) && !text.starts_with('-') && !text.ends_with('-')
}

/// True in names of objects: a segment of a path, without what would need an escape.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:~".contains(&byte)
}

impl fmt::Display for PolicyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is done about objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectPolicy {
    /// When one is on a cluster already and is not ours.
    pub existing: Existing,
    /// When somebody else changes or deletes one.
    pub drift: Drift,
}

/// What is done about each object. About one that nothing names: refuse what is there, and correct drift.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectPolicies(BTreeMap<PolicyTarget, ObjectPolicy>);

impl ObjectPolicies {
    /// The policy for an object: the one that names it before one of its kind, and one with the API group before one without.
    #[must_use]
    pub fn of(&self, kind: &GroupVersionKind, name: &str) -> ObjectPolicy {
        let (kind, group) = (&*kind.kind, &*kind.group);
        let targets = [
            format!("{kind}.{group}/{name}"),
            format!("{kind}/{name}"),
            format!("{kind}.{group}"),
            kind.to_owned(),
        ];
        let named = targets.into_iter().find_map(|target| self.0.get(&PolicyTarget(target)));
        named.cloned().unwrap_or_default()
    }

    /// True where something that is on a cluster already may become ours.
    #[must_use]
    pub fn take_over(&self) -> bool {
        self.0.values().any(|policy| policy.existing != Existing::default())
    }

    pub(super) fn check(
        drafts: &BTreeMap<String, ObjectPolicyDraft>,
        at: &Path,
        checks: &mut Checks,
    ) -> Option<Self> {
        if drafts.len() > limits::POLICIES_MAX {
            let rule = format!("must have at most {} entries", limits::POLICIES_MAX);
            checks.refuse(at, &drafts.len().to_string(), rule);
            return None;
        }
        let before = checks.count();
        let mut policies = BTreeMap::new();
        for (target, draft) in drafts {
            let at = at.key(target);
            let policy = policy(draft, &at, checks);
            if let Some(target) = PolicyTarget::check(target, &at, checks) {
                policies.insert(target, policy);
            }
        }
        (checks.count() == before).then_some(Self(policies))
    }
}

fn policy(draft: &ObjectPolicyDraft, at: &Path, checks: &mut Checks) -> ObjectPolicy {
    let existing = match draft.existing.as_str() {
        "" => Existing::default(),
        given => Existing::ALL.into_iter().find(|one| one.as_str() == given).unwrap_or_else(|| {
            checks.refuse(&at.field("existing"), given, "must be refuse, adopt, adopt-if-equal or overwrite");
            Existing::default()
        }),
    };
    let except = report_only(&draft.report_only, &at.field("reportOnly"), checks);
    let drift = match draft.drift.as_str() {
        "" | "correct" => Drift::Correct { except },
        "report" => {
            if !draft.report_only.is_empty() {
                let rule = "with drift: report every field is only reported; leave this out";
                checks.refuse(&at.field("reportOnly"), "", rule);
            }
            Drift::Report
        }
        other => {
            checks.refuse(&at.field("drift"), other, "must be correct or report");
            Drift::default()
        }
    };
    ObjectPolicy { existing, drift }
}

fn report_only(paths: &[String], at: &Path, checks: &mut Checks) -> BTreeSet<FieldPath> {
    if paths.len() > limits::REPORT_ONLY_MAX {
        let rule = format!("must have at most {} entries", limits::REPORT_ONLY_MAX);
        checks.refuse(at, &paths.len().to_string(), rule);
    }
    let paths = paths.iter().take(limits::REPORT_ONLY_MAX).enumerate();
    paths.filter_map(|(index, path)| checks.accept(&at.item(index), path, path.parse())).collect()
}

impl From<ObjectPolicies> for BTreeMap<String, ObjectPolicyDraft> {
    fn from(policies: ObjectPolicies) -> Self {
        policies.0.into_iter().map(|(target, policy)| (target.0, policy.into())).collect()
    }
}

impl From<ObjectPolicy> for ObjectPolicyDraft {
    fn from(policy: ObjectPolicy) -> Self {
        let existing = match policy.existing {
            Existing::Refuse => String::new(),
            given => given.as_str().to_owned(),
        };
        match policy.drift {
            Drift::Report => Self { existing, drift: "report".to_owned(), ..Self::default() },
            Drift::Correct { except } => Self {
                existing,
                report_only: except.into_iter().map(Into::into).collect(),
                ..Self::default()
            },
        }
    }
}
