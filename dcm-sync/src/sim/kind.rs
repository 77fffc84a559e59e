//! The kinds that a simulated cluster serves.

use std::sync::LazyLock;

use dcm_core::manifest::GroupVersionKind;

pub(super) const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
pub(super) const CERTIFICATES_GROUP: &str = "certificates.k8s.io";

/// Which names the API server takes for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRule {
    /// RFC 1123 label.
    Label,
    /// RFC 1123 subdomain.
    Subdomain,
    /// Anything that is one segment of a path.
    PathSegment,
}

/// One served kind.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) gvk: GroupVersionKind,
    /// The resource in paths and in RBAC rules.
    pub(super) plural: &'static str,
    pub(super) namespaced: bool,
    pub(super) names: NameRule,
    /// Whether the API server counts changes of its `spec` in `metadata.generation`.
    pub(super) counts_generations: bool,
}

/// All of them. `LazyLock`, so that their texts are shared by all objects of all clusters.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    use NameRule::{Label, PathSegment, Subdomain};
    let kind = |group, name, plural, namespaced, names| Kind {
        gvk: GroupVersionKind::new(group, "v1", name),
        plural,
        namespaced,
        names,
        counts_generations: matches!(name, "Deployment" | "NetworkPolicy"),
    };
    vec![
        kind("", "Namespace", "namespaces", false, Label),
        kind("", "ResourceQuota", "resourcequotas", true, Subdomain),
        kind("", "LimitRange", "limitranges", true, Subdomain),
        kind("", "ServiceAccount", "serviceaccounts", true, Subdomain),
        kind("", "ConfigMap", "configmaps", true, Subdomain),
        kind("", "Secret", "secrets", true, Subdomain),
        kind("", "Service", "services", true, Label),
        kind("apps", "Deployment", "deployments", true, Subdomain),
        kind("networking.k8s.io", "NetworkPolicy", "networkpolicies", true, Subdomain),
        kind(RBAC_GROUP, "Role", "roles", true, PathSegment),
        kind(RBAC_GROUP, "RoleBinding", "rolebindings", true, PathSegment),
        kind(RBAC_GROUP, "ClusterRole", "clusterroles", false, PathSegment),
        kind(RBAC_GROUP, "ClusterRoleBinding", "clusterrolebindings", false, PathSegment),
        kind(
            CERTIFICATES_GROUP,
            "CertificateSigningRequest",
            "certificatesigningrequests",
            false,
            PathSegment,
        ),
    ]
});

impl Kind {
    /// Finds a kind by group, version and kind.
    pub(super) fn find(gvk: &GroupVersionKind) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.gvk == *gvk)
    }

    /// All served kinds.
    pub(super) fn all() -> &'static [Self] {
        &KINDS
    }

    /// The kinds of objects that are in namespaces.
    pub(super) fn namespaced() -> impl Iterator<Item = &'static Self> {
        KINDS.iter().filter(|kind| kind.namespaced)
    }

    /// Finds a kind that the simulation itself makes or reads.
    ///
    /// # Panics
    /// When there is none of the name: that is a mistake in the simulation.
    pub(super) fn named(name: &str) -> &'static Self {
        match KINDS.iter().find(|kind| &*kind.gvk.kind == name) {
            Some(kind) => kind,
            None => unreachable!("the simulation names its own kinds: {name}"),
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        &*self.gvk.kind == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_in_its_served_version_only() {
        assert!(Kind::find(&GroupVersionKind::new("apps", "v1", "Deployment")).is_some());
        assert!(Kind::find(&GroupVersionKind::new("apps", "v1beta1", "Deployment")).is_none());
        assert!(Kind::find(&GroupVersionKind::new("", "v1", "Pod")).is_none());
    }
}
