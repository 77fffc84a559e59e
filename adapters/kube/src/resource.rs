//! Where objects of a kind are in the API.

use std::fmt::Write as _;
use std::sync::Arc;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::answer::Answer;
use dcm_core::port::cluster::Error;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a path segment or a query value: RFC 3986's unreserved characters. A name may have a colon
/// (roles of the system do), which is escaped and arrives the same.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A resource: the plural under which a cluster serves a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) plural: Arc<str>,
    pub(crate) namespaced: bool,
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// Kinds that every logical cloud has: every cluster serves them so, and no one needs to be asked.
/// (group, version, kind, plural, namespaced)
const BUILT_IN: [(&str, &str, &str, &str, bool); 12] = [
    ("", "v1", "ConfigMap", "configmaps", true),
    ("", "v1", "LimitRange", "limitranges", true),
    ("", "v1", "Namespace", "namespaces", false),
    ("", "v1", "ResourceQuota", "resourcequotas", true),
    ("", "v1", "ServiceAccount", "serviceaccounts", true),
    ("apps", "v1", "Deployment", "deployments", true),
    ("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", false),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true),
    (RBAC, "v1", "ClusterRole", "clusterroles", false),
    (RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", false),
    (RBAC, "v1", "Role", "roles", true),
    (RBAC, "v1", "RoleBinding", "rolebindings", true),
];

impl Resource {
    /// The resource of a kind that needs no discovery.
    pub(crate) fn built_in(kind: &GroupVersionKind) -> Option<Self> {
        let wanted = (&*kind.group, &*kind.version, &*kind.kind);
        let found = BUILT_IN.iter().find(|(group, version, kind, ..)| (*group, *version, *kind) == wanted)?;
        let (_, _, _, plural, namespaced) = *found;
        Some(Self {
            group: kind.group.clone(),
            version: kind.version.clone(),
            plural: plural.into(),
            namespaced,
        })
    }

    /// Path of all objects of this kind, of a namespace or of the cluster.
    pub(crate) fn collection(&self, namespace: Option<&str>) -> String {
        let mut path = group_version_path(&self.group, &self.version);
        if let Some(namespace) = namespace {
            let _ = write!(path, "/namespaces/{}", escape(namespace));
        }
        let _ = write!(path, "/{}", self.plural);
        path
    }

    /// Path under which an object is made.
    pub(crate) fn parent_of(&self, key: &ObjectKey) -> Result<String, Error> {
        let message = match (self.namespaced, &key.namespace) {
            (true, Some(_)) | (false, None) => return Ok(self.collection(key.namespace.as_deref())),
            (true, None) => format!("{key}: this kind needs a namespace"),
            (false, Some(_)) => format!("{key}: this kind has no namespace"),
        };
        Err(Error::Invalid { message: Answer::of_rule(message) })
    }

    /// Path of one object.
    pub(crate) fn object(&self, key: &ObjectKey) -> Result<String, Error> {
        // The API refuses these names, too. As a path they would mean something else.
        if matches!(&*key.name, "." | "..") || key.name.contains('/') {
            return Err(Error::Invalid {
                message: Answer::of_rule(format!("{key}: no object can have this name")),
            });
        }
        Ok(format!("{}/{}", self.parent_of(key)?, escape(&key.name)))
    }
}

/// Path of a group, which is not the core group: `/apis/apps`.
pub(crate) fn group_path(group: &str) -> String {
    format!("/apis/{}", escape(group))
}

/// Path of a group in a version: `/api/v1`, `/apis/apps/v1`.
pub(crate) fn group_version_path(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("/api/{}", escape(version))
    } else {
        format!("/apis/{}/{}", escape(group), escape(version))
    }
}

/// Escapes one segment of a path or one value of a query.
pub(crate) fn escape(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: Option<&str>, name: &str) -> ObjectKey {
        ObjectKey::new(RBAC.into(), "X".into(), namespace.map(Into::into), name.into())
    }

    #[test]
    fn every_object_has_its_path() {
        let resource =
            |group: &str, kind: &str| Resource::built_in(&GroupVersionKind::new(group, "v1", kind)).unwrap();
        let table = [
            (resource("", "ConfigMap"), key(Some("n"), "c"), "/api/v1/namespaces/n/configmaps/c"),
            (resource("", "Namespace"), key(None, "n"), "/api/v1/namespaces/n"),
            (resource("apps", "Deployment"), key(Some("n"), "d"), "/apis/apps/v1/namespaces/n/deployments/d"),
            (
                resource(RBAC, "ClusterRole"),
                key(None, "system:a b?#%"),
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%20b%3F%23%25",
            ),
        ];
        for (resource, key, expected) in table {
            assert_eq!(resource.object(&key).unwrap(), expected);
        }
        assert_eq!(resource("", "ConfigMap").collection(None), "/api/v1/configmaps");
    }

    #[test]
    fn a_key_that_does_not_fit_the_kind_is_refused() {
        let resource = |kind: &str| Resource::built_in(&GroupVersionKind::new("", "v1", kind)).unwrap();
        for (kind, key) in [
            ("ConfigMap", key(None, "c")),
            ("Namespace", key(Some("n"), "c")),
            ("ConfigMap", key(Some("n"), "../secrets/c")),
            ("ConfigMap", key(Some("n"), "..")),
        ] {
            assert!(matches!(resource(kind).object(&key), Err(Error::Invalid { .. })), "{key}");
        }
        let sly = resource("ConfigMap").object(&key(Some("../x"), "c")).unwrap();
        assert_eq!(sly, "/api/v1/namespaces/..%2Fx/configmaps/c");
    }

    #[test]
    fn another_version_of_a_built_in_kind_is_not_built_in() {
        assert_eq!(Resource::built_in(&GroupVersionKind::new("apps", "v1beta1", "Deployment")), None);
        assert_eq!(Resource::built_in(&GroupVersionKind::new("", "v1", "Deployment")), None);
    }
}
