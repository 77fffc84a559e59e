//! What is done about the objects of each kind when others made or change them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::app_context::{Drift, Existing};
use crate::fields::FieldPath;
use crate::manifest::GroupVersionKind;
use crate::refusal::{Checks, Path};

use super::draft::ObjectPolicyDraft;
use super::limits;

/// Names kinds of objects: `Role` those of every API group, `Role.rbac.authorization.k8s.io` that of one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyKind(String);

impl PolicyKind {
    fn check(text: &str, at: &Path, checks: &mut Checks) -> Option<Self> {
        let (kind, group) = text.split_once('.').unwrap_or((text, "group"));
        let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase())
            && kind.chars().all(|character| character.is_ascii_alphanumeric());
        let is_group = group.split('.').all(is_label);
        if !(is_kind && is_group) || text.len() > limits::POLICY_KIND_BYTES_MAX {
            checks.refuse(
                at,
                "",
                "must be a kind such as Role, or with its API group such as Certificate.cert-manager.io",
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

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is done about objects of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectPolicy {
    /// When one is on a cluster already and is not ours.
    pub existing: Existing,
    /// When somebody else changes or deletes one.
    pub drift: Drift,
}

/// What is done about the objects of each kind. Of a kind that is not named: refuse what is there, and correct drift.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectPolicies(BTreeMap<PolicyKind, ObjectPolicy>);

impl ObjectPolicies {
    /// The policy for a kind: the one that names it with its API group before the one that doesn't.
    #[must_use]
    pub fn of(&self, kind: &GroupVersionKind) -> ObjectPolicy {
        let with_group = PolicyKind(format!("{}.{}", kind.kind, kind.group));
        let without = PolicyKind(kind.kind.to_string());
        self.0.get(&with_group).or_else(|| self.0.get(&without)).cloned().unwrap_or_default()
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
        for (kind, draft) in drafts {
            let at = at.key(kind);
            let policy = policy(draft, &at, checks);
            if let Some(kind) = PolicyKind::check(kind, &at, checks) {
                policies.insert(kind, policy);
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
        policies.0.into_iter().map(|(kind, policy)| (kind.0, policy.into())).collect()
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
