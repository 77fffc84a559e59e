//! What is accepted and perhaps not meant.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::manifest::{holds_nothing, kind_of};
use crate::quantity::Quantity;
use crate::refusal::{Path, Warning};

use super::draft::{Draft, PermissionDraft, SelectorDraft, SpecDraft, UserDraft};
use super::level::Level;
use super::quota::implausible;

/// Verbs that Kubernetes' own components look at.
const KNOWN_VERBS: [&str; 16] = [
    "*",
    "approve",
    "attest",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "impersonate",
    "list",
    "patch",
    "sign",
    "update",
    "use",
    "watch",
];

/// Verbs that change an object.
const CHANGING_VERBS: [&str; 5] = ["*", "update", "patch", "delete", "deletecollection"];

/// Group and kind of what clouds are rendered to, beside their extra manifests; the version of each is `v1`.
pub const RENDERED_KINDS: [(&str, &str); 8] = [
    ("", "LimitRange"),
    ("", "Namespace"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
];

/// All warnings about a draft that is accepted, with the paths of its document.
pub(super) fn of(draft: &Draft) -> Vec<Warning> {
    let spec = &draft.spec;
    let given = spec.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let own = given.unwrap_or(&draft.metadata.name);
    let at = Path::root().field("spec");
    let mut warnings = Vec::new();
    match &spec.cluster_selector {
        Some(selector) if *selector == SelectorDraft::default() => {
            let message = "has no terms: it selects every registered cluster";
            warn(&mut warnings, &at.field("clusterSelector"), message);
        }
        None if spec.clusters.is_empty() => {
            warn(&mut warnings, &at.field("clusters"), "no cluster yet: an apply does nothing");
        }
        Some(_) | None => {}
    }
    if Level::is_admin(spec.level.as_deref()) {
        return warnings;
    }
    if spec.users.is_empty() {
        warn(&mut warnings, &at.field("users"), "no user: no credential is issued");
    }
    if spec.quotas.is_empty() {
        let message = "no quota: the logical cloud may use all of each cluster";
        warn(&mut warnings, &at.field("quotas"), message);
    }
    let (any, outside) =
        (Holders::of(spec, |_| true), Holders::of(spec, |permission| leaves(permission, own)));
    for (index, user) in spec.users.iter().enumerate() {
        of_user(user, &any, &outside, &at.field("users").item(index), &mut warnings);
    }
    for (index, quota) in spec.quotas.iter().enumerate() {
        let at = at.field("quotas").item(index).field("hard");
        of_amounts(&quota.hard, &at, &mut warnings);
    }
    of_container_defaults(spec, &at.field("containerDefaults"), &mut warnings);
    for (index, manifest) in spec.manifests.iter().enumerate() {
        if manifest.get("status").is_some_and(|status| !holds_nothing(status)) {
            let at = at.field("manifests").item(index).field("status");
            warn(&mut warnings, &at, "is written by the cluster: it is left out");
        }
    }
    for kind in spec.object_policies.keys().filter(|kind| !is_made(kind, spec)) {
        let at = at.field("objectPolicies").key(kind);
        warn(&mut warnings, &at, "no object of this kind is made: it changes nothing");
    }
    for (index, permission) in spec.permissions.iter().enumerate() {
        of_permission(permission, spec, own, &at.field("permissions").item(index), &mut warnings);
    }
    warnings
}

/// Amounts that are probably not meant.
fn of_amounts(amounts: &BTreeMap<String, Value>, at: &Path, warnings: &mut Vec<Warning>) {
    for (key, value) in amounts {
        let rule = amount(value).and_then(|amount| implausible(key, &amount));
        rule.into_iter().for_each(|rule| warn(warnings, &at.key(key), rule));
    }
}

fn amount(value: &Value) -> Option<Quantity> {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).parse().ok()
}

/// Defaults that no quota admits keep all pods out that say nothing.
fn of_container_defaults(spec: &SpecDraft, at: &Path, warnings: &mut Vec<Warning>) {
    let Some(defaults) = &spec.container_defaults else { return };
    for (field, amounts) in [("requests", &defaults.requests), ("limits", &defaults.limits)] {
        let at = at.field(field);
        of_amounts(amounts, &at, warnings);
        for (resource, value) in amounts {
            let key = format!("{field}.{resource}");
            // A quota of cpu is one of requests.cpu.
            let is_meant = |held: &str| held == key || (field == "requests" && held == resource);
            let hard = spec.quotas.iter().flat_map(|quota| &quota.hard);
            let mut held = hard.filter(|(key, _)| is_meant(key)).filter_map(|(_, held)| amount(held));
            if amount(value).is_some_and(|amount| held.any(|held| amount.is_above(&held))) {
                let message = "is above a quota of this cloud: pods that say nothing are refused";
                warn(warnings, &at.key(resource), message);
            }
        }
    }
}

fn warn(warnings: &mut Vec<Warning>, at: &Path, message: &str) {
    warnings.push(Warning { path: at.to_string(), message: message.to_owned() });
}

/// Whom some of the permissions hold for.
struct Holders<'a> {
    all: bool,
    named: BTreeSet<&'a str>,
}

impl<'a> Holders<'a> {
    fn of(spec: &'a SpecDraft, which: impl Fn(&PermissionDraft) -> bool) -> Self {
        let mut holders = Self { all: false, named: BTreeSet::new() };
        for permission in spec.permissions.iter().filter(|permission| which(permission)) {
            match &permission.users {
                Some(users) => holders.named.extend(users.iter().map(String::as_str)),
                None => holders.all = true,
            }
        }
        holders
    }

    fn include(&self, user: &UserDraft) -> bool {
        self.all || self.named.contains(user.name.as_str())
    }
}

fn of_user(
    user: &UserDraft,
    any: &Holders<'_>,
    outside: &Holders<'_>,
    at: &Path,
    warnings: &mut Vec<Warning>,
) {
    if !any.include(user) {
        warn(warnings, at, "no permission holds for this user");
    } else if is_token(user) && outside.include(user) {
        let message = "may do things outside the namespace, and so may whoever creates pods in it: a pod can take any \
                       ServiceAccount there, and with it this user's rights; certificate is safer";
        warn(warnings, at, message);
    }
}

fn of_permission(
    permission: &PermissionDraft,
    spec: &SpecDraft,
    own: &str,
    at: &Path,
    warnings: &mut Vec<Warning>,
) {
    for (place, verb) in permission.verbs.iter().enumerate() {
        if !KNOWN_VERBS.contains(&verb.as_str()) {
            warn(warnings, &at.field("verbs").item(place), "is no verb that Kubernetes itself knows");
        }
    }
    if !spec.quotas.is_empty() && reaches_quotas(permission, own) {
        warn(
            warnings,
            at,
            "lets its users change the quotas that hold them: name the resources instead of *",
        );
    }
}

/// True when some object of a kind that a policy names is made for a cloud.
fn is_made(named: &str, spec: &SpecDraft) -> bool {
    let named = named.split('/').next().unwrap_or(named);
    let is_named = |group: &str, kind: &str| named == kind || named == format!("{kind}.{group}");
    let of_manifest =
        |manifest: &Value| kind_of(manifest).is_ok_and(|kind| is_named(&kind.group, &kind.kind));
    RENDERED_KINDS.iter().any(|(group, kind)| is_named(group, kind)) || spec.manifests.iter().any(of_manifest)
}

fn is_token(user: &UserDraft) -> bool {
    user.kind.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case("token"))
}

/// True when a permission holds outside the cloud's own namespace.
fn leaves(permission: &PermissionDraft, own: &str) -> bool {
    permission.cluster_wide || permission.namespace.as_ref().is_some_and(|namespace| namespace != own)
}

/// True when a permission lets its holders change or delete the ResourceQuotas of the cloud.
fn reaches_quotas(permission: &PermissionDraft, own: &str) -> bool {
    let has = |list: &[String], wanted: &[&str]| list.iter().any(|item| wanted.contains(&item.as_str()));
    (permission.cluster_wide || !leaves(permission, own))
        && permission.resource_names.is_empty()
        && has(&permission.api_groups, &["", "*"])
        && has(&permission.resources, &["*", "resourcequotas"])
        && has(&permission.verbs, &CHANGING_VERBS)
}
