//! Objects that controllers of a cluster put into every namespace: they don't count as what others have there.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Objects that do not count as contents of a namespace. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredContents(Arc<[IgnoredObjects]>);

/// Objects of one kind that do not count: `KIND[.GROUP]/NAME`, in which the name may end with `*`, or `KIND[.GROUP]:LABEL[=VALUE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredObjects {
    kind: String,
    group: String,
    which: Which,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Named(String),
    Beginning(String),
    Labelled { key: String, value: Option<String> },
}

/// A text that names no such objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be KIND[.GROUP]/NAME, such as ConfigMap/istio-ca-root-cert, where NAME may end with *, or KIND[.GROUP]:LABEL[=VALUE]"
)]
pub struct InvalidIgnoredObjects;

/// What is ignored by default.
const DEFAULT: [&str; 14] = [
    // Istio: istiod writes the root of its authority, and its revocation list, into each namespace (`pilot/pkg/bootstrap`,
    // `security/pkg/k8s/controller`).
    "ConfigMap/istio-ca-root-cert",
    "ConfigMap/istio-ca-crl",
    // OpenShift: the service CA operator, and the controllers that prepare a project for builds ("Default service accounts and
    // roles" in its guide to authentication).
    "ConfigMap/openshift-service-ca.crt",
    "ServiceAccount/builder",
    "ServiceAccount/deployer",
    "Secret/builder-dockercfg-*",
    "Secret/deployer-dockercfg-*",
    "Secret/default-dockercfg-*",
    "RoleBinding.rbac.authorization.k8s.io/system:image-builders",
    "RoleBinding.rbac.authorization.k8s.io/system:image-pullers",
    "RoleBinding.rbac.authorization.k8s.io/system:deployers",
    // GKE: a quota for each namespace of small clusters ("Quotas and limits" in its guide).
    "ResourceQuota/gke-resource-quotas",
    // trust-manager: the targets of a Bundle (`trust.cert-manager.io/bundle`).
    "ConfigMap:trust.cert-manager.io/bundle",
    "Secret:trust.cert-manager.io/bundle",
];

impl Default for IgnoredContents {
    /// What Istio, OpenShift, GKE and trust-manager put into every namespace.
    fn default() -> Self {
        DEFAULT.iter().filter_map(|text| text.parse().ok()).collect()
    }
}

impl FromIterator<IgnoredObjects> for IgnoredContents {
    fn from_iter<I: IntoIterator<Item = IgnoredObjects>>(objects: I) -> Self {
        Self(objects.into_iter().collect())
    }
}

impl IgnoredContents {
    /// Nothing: all that others have in a namespace counts.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::new([]))
    }

    /// What is ignored.
    pub fn iter(&self) -> impl Iterator<Item = &IgnoredObjects> {
        self.0.iter()
    }

    /// The labels by which something is ignored.
    pub fn label_keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|objects| match &objects.which {
            Which::Labelled { key, .. } => Some(key.as_str()),
            Which::Named(_) | Which::Beginning(_) => None,
        })
    }

    /// True for an object that does not count.
    #[must_use]
    pub fn ignores(&self, group: &str, kind: &str, name: &str, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().any(|objects| {
            objects.kind == kind && objects.group == group && objects.which.is_of(name, labels)
        })
    }
}

impl Which {
    fn is_of(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Named(named) => named == name,
            Self::Beginning(beginning) => name.starts_with(beginning.as_str()),
            Self::Labelled { key, value } => {
                labels.get(key).is_some_and(|found| value.as_ref().is_none_or(|value| value == found))
            }
        }
    }
}

impl FromStr for IgnoredObjects {
    type Err = InvalidIgnoredObjects;

    fn from_str(text: &str) -> Result<Self, InvalidIgnoredObjects> {
        let end = text.find(['/', ':']).ok_or(InvalidIgnoredObjects)?;
        let (kind, rest) = text.split_at(end);
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric());
        let is_group =
            group.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c));
        if !is_kind || !is_group {
            return Err(InvalidIgnoredObjects);
        }
        let which = match rest.strip_prefix('/') {
            Some(name) => named(name)?,
            None => labelled(&rest[1..])?,
        };
        Ok(Self { kind: kind.to_owned(), group: group.to_owned(), which })
    }
}

/// A name that an object may have, or what it begins with.
fn named(name: &str) -> Result<Which, InvalidIgnoredObjects> {
    let is_of_names = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c))
    };
    match name.strip_suffix('*') {
        Some(beginning) if is_of_names(beginning) => Ok(Which::Beginning(beginning.to_owned())),
        None if is_of_names(name) => Ok(Which::Named(name.to_owned())),
        _ => Err(InvalidIgnoredObjects),
    }
}

fn labelled(label: &str) -> Result<Which, InvalidIgnoredObjects> {
    let (key, value) = match label.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (label, None),
    };
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-._/".contains(c));
    if is_key { Ok(Which::Labelled { key: key.to_owned(), value }) } else { Err(InvalidIgnoredObjects) }
}

impl fmt::Display for IgnoredObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.which {
            Which::Named(name) => write!(f, "/{name}"),
            Which::Beginning(beginning) => write!(f, "/{beginning}*"),
            Which::Labelled { key, value: None } => write!(f, ":{key}"),
            Which::Labelled { key, value: Some(value) } => write!(f, ":{key}={value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_default_is_read_and_written_alike() {
        let written: Vec<String> = IgnoredContents::default().iter().map(ToString::to_string).collect();
        assert_eq!(written, DEFAULT);
    }

    #[test]
    fn what_controllers_put_into_namespaces_is_ignored_and_what_is_like_it_is_not() {
        let bundle = labels(&[("trust.cert-manager.io/bundle", "ours")]);
        let none = BTreeMap::new();
        let rbac = "rbac.authorization.k8s.io";
        for (group, kind, name, labels, is_ignored) in [
            ("", "ConfigMap", "istio-ca-root-cert", &none, true),
            ("", "ConfigMap", "istio-ca-root-cert-2", &none, false),
            ("", "Secret", "istio-ca-root-cert", &none, false),
            ("", "ServiceAccount", "builder", &none, true),
            ("", "ServiceAccount", "build", &none, false),
            ("", "Secret", "builder-dockercfg-x7k2p", &none, true),
            ("", "Secret", "my-builder-dockercfg-x7k2p", &none, false),
            (rbac, "RoleBinding", "system:deployers", &none, true),
            (rbac, "Role", "system:deployers", &none, false),
            ("example.com", "RoleBinding", "system:deployers", &none, false),
            ("", "ResourceQuota", "gke-resource-quotas", &none, true),
            ("", "ConfigMap", "anything", &bundle, true),
            ("", "ConfigMap", "anything", &none, false),
            ("apps", "Deployment", "anything", &bundle, false),
        ] {
            let ignores = IgnoredContents::default().ignores(group, kind, name, labels);
            assert_eq!(ignores, is_ignored, "{kind}.{group}/{name}");
            assert!(!IgnoredContents::none().ignores(group, kind, name, labels));
        }
        let of_value: IgnoredContents = ["ConfigMap:team=blue".parse().unwrap()].into_iter().collect();
        assert!(of_value.ignores("", "ConfigMap", "a", &labels(&[("team", "blue")])));
        assert!(!of_value.ignores("", "ConfigMap", "a", &labels(&[("team", "red")])));
    }

    #[test]
    fn what_would_ignore_a_whole_kind_or_is_misspelled_is_refused() {
        for text in [
            "",
            "ConfigMap",
            "ConfigMap/",
            "ConfigMap/*",
            "configmap/a",
            "ConfigMap/a*b",
            "ConfigMap:",
            "ConfigMap:=x",
            "/a",
            "ConfigMap/A",
        ] {
            assert_eq!(text.parse::<IgnoredObjects>(), Err(InvalidIgnoredObjects), "{text}");
        }
    }
}
