//! The resources that a cluster serves, as its discovery has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::manifest::{GroupVersionKind, Manifest};
use crate::port::cluster::Error;

/// API groups that are part of Kubernetes itself. Each of their kinds has the resource that Kubernetes would guess.
const OWN_GROUPS: [&str; 23] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Verbs of each custom resource.
const CUSTOM_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Verbs of the subresources of a custom resource.
const CUSTOM_SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What a cluster serves.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// The resources and subresources that are known, each in each version.
    pub served: Vec<ServedResource>,
    /// The API groups that could not be asked, and why: other servers serve them, behind the cluster's. What resources they have is not
    /// known, or not of all their versions.
    pub unseen: BTreeMap<Arc<str>, Error>,
}

/// A resource or a subresource in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedResource {
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The version.
    pub version: Arc<str>,
    /// The kind of its objects. That of a subresource may be another one than that of its resource.
    pub kind: Arc<str>,
    /// The resource in the plural, such as `pods`, or with a subresource, such as `pods/log`.
    pub name: Arc<str>,
    /// Whether its objects are in namespaces.
    pub is_namespaced: bool,
    /// What can be done with it.
    pub verbs: BTreeSet<Arc<str>>,
}

impl ServedResource {
    /// True for a subresource.
    #[must_use]
    pub fn is_subresource(&self) -> bool {
        self.name.contains('/')
    }
}

impl Resources {
    /// The resource of a kind: in its version, or in another one where that is not served.
    #[must_use]
    pub fn of_kind(&self, kind: &GroupVersionKind) -> Option<&ServedResource> {
        let is_of =
            |one: &&ServedResource| one.group == kind.group && one.kind == kind.kind && !one.is_subresource();
        let exact = self.served.iter().filter(is_of).find(|one| one.version == kind.version);
        exact.or_else(|| self.served.iter().find(is_of))
    }

    /// The resources of a name in a group, or in any group; one for each version.
    pub fn named<'a>(
        &'a self,
        group: Option<&'a str>,
        name: &'a str,
    ) -> impl Iterator<Item = &'a ServedResource> {
        let is_it =
            move |one: &&ServedResource| &*one.name == name && group.is_none_or(|group| &*one.group == group);
        self.served.iter().filter(is_it)
    }

    /// True for a group that the cluster serves, or of which that is not known.
    #[must_use]
    pub fn may_have_group(&self, group: &str) -> bool {
        group.is_empty()
            || self.unseen.contains_key(group)
            || self.served.iter().any(|one| &*one.group == group)
    }

    /// Adds the resources that some manifests define, as far as they are definitions of custom resources.
    #[must_use]
    pub fn with_definitions<'a>(mut self, manifests: impl IntoIterator<Item = &'a Manifest>) -> Self {
        self.served.extend(manifests.into_iter().flat_map(defined));
        self
    }
}

/// The resource of a kind as Kubernetes guesses it where it has to: definitions of custom resources may name another one.
#[must_use]
pub fn guess(kind: &str) -> String {
    let singular = kind.to_lowercase();
    if singular.ends_with("endpoints") {
        return singular;
    }
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

/// True for an API group that is part of Kubernetes itself: [`guess`] is right for each of its kinds.
#[must_use]
pub fn is_own_group(group: &str) -> bool {
    OWN_GROUPS.contains(&group)
}

/// What a CustomResourceDefinition defines; nothing for another manifest.
fn defined(manifest: &Manifest) -> Vec<ServedResource> {
    let kind = manifest.kind();
    if (&*kind.group, &*kind.kind) != ("apiextensions.k8s.io", "CustomResourceDefinition") {
        return Vec::new();
    }
    let spec = &manifest.body()["spec"];
    let text = |value: &serde_json::Value| value.as_str().map(Arc::<str>::from);
    let (Some(group), Some(plural), Some(kind)) =
        (text(&spec["group"]), text(&spec["names"]["plural"]), text(&spec["names"]["kind"]))
    else {
        return Vec::new();
    };
    let is_namespaced = spec["scope"] == "Namespaced";
    let mut found = Vec::new();
    let versions = spec["versions"].as_array().into_iter().flatten();
    for version in versions.filter(|version| version["served"] == true) {
        let Some(name) = text(&version["name"]) else { continue };
        let resource = |below: &str, verbs: &[&str]| ServedResource {
            group: group.clone(),
            version: name.clone(),
            kind: kind.clone(),
            name: format!("{plural}{below}").into(),
            is_namespaced,
            verbs: verbs.iter().map(|verb| Arc::from(*verb)).collect(),
        };
        found.push(resource("", &CUSTOM_VERBS));
        found.extend(
            ["/status", "/scale"]
                .into_iter()
                .filter(|below| !version["subresources"][&below[1..]].is_null())
                .map(|below| resource(below, &CUSTOM_SUBRESOURCE_VERBS)),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_are_guessed_from_kinds_as_in_kubernetes() {
        for (kind, expected) in [
            ("NetworkPolicy", "networkpolicies"),
            ("Ingress", "ingresses"),
            ("ConfigMap", "configmaps"),
            ("Endpoints", "endpoints"),
            ("ServiceEndpoints", "serviceendpoints"),
            ("Gateway", "gatewaies"),
            ("Box", "boxs"),
        ] {
            assert_eq!(guess(kind), expected);
        }
    }

    #[test]
    fn the_resources_of_a_definition_count_as_served() {
        let definition = Manifest::new(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boxes.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "Box", "plural": "boxes"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}}],
            },
        }))
        .unwrap();
        let resources = Resources::default().with_definitions([&definition]);
        let names: Vec<&str> = resources.served.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["boxes", "boxes/status"]);
        let kind = GroupVersionKind::new("example.com", "v2", "Box");
        assert_eq!(resources.of_kind(&kind).map(|one| &*one.name), Some("boxes"));
        assert!(resources.may_have_group("example.com") && !resources.may_have_group("example.org"));
    }
}
