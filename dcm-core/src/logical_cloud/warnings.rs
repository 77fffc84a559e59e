//! What is accepted and perhaps not meant.

use crate::refusal::{Path, Warning};

use super::draft::{Draft, PermissionDraft, SelectorDraft, SpecDraft, UserDraft};
use super::level::Level;

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

/// All warnings about a draft, with the paths of its document.
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
            warn(&mut warnings, &at.field("clusters"), "there is no cluster yet: applying does nothing");
        }
        Some(_) | None => {}
    }
    if Level::is_admin(spec.level.as_deref()) {
        return warnings;
    }
    if spec.users.is_empty() {
        warn(&mut warnings, &at.field("users"), "there is no user: nobody gets a credential");
    }
    if spec.quotas.is_empty() {
        let message = "there is no quota: the cloud may use all of each cluster";
        warn(&mut warnings, &at.field("quotas"), message);
    }
    for (index, user) in spec.users.iter().enumerate() {
        of_user(user, spec, own, &at.field("users").item(index), &mut warnings);
    }
    for (index, permission) in spec.permissions.iter().enumerate() {
        of_permission(permission, spec, own, &at.field("permissions").item(index), &mut warnings);
    }
    warnings
}

fn warn(warnings: &mut Vec<Warning>, at: &Path, message: &str) {
    warnings.push(Warning { path: at.to_string(), message: message.to_owned() });
}

fn of_user(user: &UserDraft, spec: &SpecDraft, own: &str, at: &Path, warnings: &mut Vec<Warning>) {
    let holds = |permission: &PermissionDraft| {
        permission.users.as_ref().is_none_or(|users| users.contains(&user.name))
    };
    if !spec.permissions.iter().any(holds) {
        warn(warnings, at, "no permission holds for this user");
    } else if is_token(user) && spec.permissions.iter().any(|one| holds(one) && leaves(one, own)) {
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
