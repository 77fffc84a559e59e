//! Parts of manifests that have no effect on a cluster: rules of roles that permit nothing there, and keys of quotas that count nothing.
//!
//! An API server accepts both without a word. Whether they have an effect depends on the resources that it serves ([`Resources`], from its
//! discovery). A group that can't be asked is given the benefit of the doubt.

mod counts;
mod rules;

use std::fmt;

use crate::manifest::Manifest;
use crate::port::resources::{Resources, guess};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A part of a manifest that has no effect on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutEffect {
    /// The field and the reason, such as `rules[0]: the cluster does not serve boxs.example.com`.
    pub sentence: String,
    /// The resource that may be intended, as the cluster calls it: more than a tenant may know of a cluster.
    pub instead: Option<String>,
}

impl WithoutEffect {
    fn at(self, field: &str) -> Self {
        Self { sentence: format!("{field}: {}", self.sentence), ..self }
    }
}

impl fmt::Display for WithoutEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        match &self.instead {
            Some(instead) => write!(f, "; it serves {instead}"),
            None => Ok(()),
        }
    }
}

/// True for a manifest that may have parts without an effect: without any of them, a cluster need not be asked for its resources.
#[must_use]
pub fn depends_on_resources(manifest: &Manifest) -> bool {
    judged(manifest).is_some()
}

/// The parts of a manifest that have no effect on a cluster that serves these resources.
#[must_use]
pub fn without_effect(manifest: &Manifest, resources: &Resources) -> Vec<WithoutEffect> {
    match judged(manifest) {
        Some(Judged::Role) => rules::without_effect(manifest, resources, true),
        Some(Judged::ClusterRole) => rules::without_effect(manifest, resources, false),
        Some(Judged::Quota) => counts::without_effect(manifest, resources),
        None => Vec::new(),
    }
}

enum Judged {
    Role,
    ClusterRole,
    Quota,
}

fn judged(manifest: &Manifest) -> Option<Judged> {
    let kind = manifest.kind();
    Some(match (&*kind.group, &*kind.kind) {
        (RBAC, "Role") => Judged::Role,
        (RBAC, "ClusterRole") => Judged::ClusterRole,
        ("", "ResourceQuota") => Judged::Quota,
        _ => return None,
    })
}

/// The resource that may be intended by a name that is none: that of the kind of this name, or of the kind that it is guessed of; the one in
/// these groups first.
fn intended(resources: &Resources, groups: &[&str], name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let is_it = |kind: &str| kind.to_ascii_lowercase() == name || guess(kind) == name;
    let found: Vec<_> =
        resources.served.iter().filter(|one| !one.is_subresource() && is_it(&one.kind)).collect();
    let in_groups = found.iter().find(|one| groups.contains(&&*one.group));
    in_groups.or(found.first()).map(|one| qualified(&one.name, &one.group))
}

/// A resource with its group, such as `deployments.apps`.
fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

#[cfg(test)]
mod tests;
