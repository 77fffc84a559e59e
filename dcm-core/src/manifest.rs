//! Kubernetes objects as desired state: what is to be in a cluster, whatever its kind.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::hash::ContentHash;

/// Largest manifest, in bytes of canonical JSON. Kubernetes refuses requests over 1.5 MiB; what the API server and we
/// add to an object needs room too.
pub const MANIFEST_BYTES_MAX: usize = 1024 * 1024;

/// 2⁶³: each float below it that has no fraction is an integer of 64 bits.
pub(crate) const INTEGRAL_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Stands for a value that is not shown.
pub const HIDDEN: &str = "***";

/// API group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";

/// Group, version and kind of an object. The core group is the empty text.
///
/// Cheap to clone, and as large as a pointer: an engine keeps some for each object of each cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupVersionKind(Arc<KindParts>);

/// The parts of a [`GroupVersionKind`].
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindParts {
    /// API group, such as `rbac.authorization.k8s.io`; empty for the core group.
    pub group: Arc<str>,
    /// API version, such as `v1`.
    pub version: Arc<str>,
    /// Kind, such as `Role`.
    pub kind: Arc<str>,
}

impl GroupVersionKind {
    /// Puts the parts together.
    #[must_use]
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self::of_parts(group.into(), version.into(), kind.into())
    }

    /// Puts the parts together as they are.
    #[must_use]
    pub fn of_parts(group: Arc<str>, version: Arc<str>, kind: Arc<str>) -> Self {
        Self(Arc::new(KindParts { group, version, kind }))
    }

    /// `apiVersion` as manifests spell it: `v1`, `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// True for the kind that holds namespaced objects together.
    #[must_use]
    pub fn is_namespace(&self) -> bool {
        self.group.is_empty() && &*self.kind == "Namespace"
    }
}

impl Deref for GroupVersionKind {
    type Target = KindParts;

    fn deref(&self) -> &KindParts {
        &self.0
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}

/// Names one object in one cluster. The API version is not part of it: one object answers under each served version.
///
/// Cheap to clone, and as large as a pointer, like [`GroupVersionKind`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = "The object."))]
#[serde(transparent)]
pub struct ObjectKey(Arc<KeyParts>);

/// The parts of an [`ObjectKey`].
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Object", description = "Names one object in one cluster.")
)]
pub struct KeyParts {
    /// API group.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub group: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
    /// Namespace; none for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Puts the parts together.
    #[must_use]
    pub fn new(group: Arc<str>, kind: Arc<str>, namespace: Option<Arc<str>>, name: Arc<str>) -> Self {
        Self(Arc::new(KeyParts { group, kind, namespace, name }))
    }

    /// The key of an object of a kind.
    #[must_use]
    pub fn of_kind(kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Self {
        Self::new(kind.group.clone(), kind.kind.clone(), namespace.map(Into::into), name.into())
    }

    /// True for the objects that grant rights: roles and bindings.
    #[must_use]
    pub fn is_right(&self) -> bool {
        &*self.group == RBAC
    }

    /// True for the objects that bind rights to subjects: a RoleBinding or a ClusterRoleBinding.
    #[must_use]
    pub fn is_binding(&self) -> bool {
        self.is_right() && matches!(&*self.kind, "RoleBinding" | "ClusterRoleBinding")
    }

    /// True for a ServiceAccount.
    #[must_use]
    pub fn is_account(&self) -> bool {
        self.group.is_empty() && &*self.kind == "ServiceAccount"
    }
}

impl Deref for ObjectKey {
    type Target = KeyParts;

    fn deref(&self) -> &KeyParts {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

/// One desired object: a validated JSON object, its key and the hash of its content.
///
/// Cheap to clone; equal manifests for many clusters are made and kept once.
#[derive(Clone, PartialEq, Eq)]
pub struct Manifest(Arc<Inner>);

#[derive(PartialEq, Eq)]
struct Inner {
    kind: GroupVersionKind,
    key: ObjectKey,
    hash: ContentHash,
    body: Value,
}

/// Why a JSON value can't be a desired object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {rule}")]
pub struct InvalidManifest {
    /// Path of the member, such as `metadata.name`.
    pub path: &'static str,
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// Members of `metadata` that the API server writes and a desired object must not have.
const SERVER_METADATA: [(&str, &str); 7] = [
    ("uid", "metadata.uid"),
    ("resourceVersion", "metadata.resourceVersion"),
    ("generation", "metadata.generation"),
    ("creationTimestamp", "metadata.creationTimestamp"),
    ("deletionTimestamp", "metadata.deletionTimestamp"),
    ("managedFields", "metadata.managedFields"),
    ("generateName", "metadata.generateName"),
];

/// True for what says nothing: `null`, `""`, `0`, `false`, and lists and objects of these.
pub(crate) fn holds_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(holds_nothing),
        Value::Object(members) => members.values().all(holds_nothing),
    }
}

/// Leaves out what only the API server writes where it holds nothing.
fn leave_out_empty(body: &mut Value) {
    let Some(members) = body.as_object_mut() else { return };
    if members.get("status").is_some_and(holds_nothing) {
        members.remove("status");
    }
    if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
        for (member, _) in SERVER_METADATA {
            if metadata.get(member).is_some_and(holds_nothing) {
                metadata.remove(member);
            }
        }
    }
    members.values_mut().for_each(normalize);
}

/// Leaves out `creationTimestamp: null` in the `metadata` of templates, and fractions that are 0: the API server takes `755.0` for no integer.
fn normalize(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = integral(number) {
                *number = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Object(members) => {
            if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut)
                && metadata.get("creationTimestamp").is_some_and(Value::is_null)
            {
                metadata.remove("creationTimestamp");
            }
            members.values_mut().for_each(normalize);
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The integer that a float stands for.
fn integral(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    #[allow(clippy::cast_possible_truncation, reason = "it is integral and in range")]
    (float.abs() < INTEGRAL_MAX).then_some(float as i64)
}

impl Manifest {
    /// Takes a JSON object as desired state. What only the API server writes (`status`, `metadata.uid` and the like) is left out where it
    /// holds nothing, as `kubectl create --dry-run=client` and generators write it: `null`, `""`, `0`, `false`, and lists and objects
    /// of these. So is `creationTimestamp: null` in the `metadata` of a template. A float without a fraction becomes an integer, as kubectl
    /// writes it.
    ///
    /// # Errors
    /// [`InvalidManifest`] when `apiVersion`, `kind` or `metadata.name` is missing, empty or unprintable, when it holds what only
    /// the API server writes, or when it is over [`MANIFEST_BYTES_MAX`].
    pub fn new(mut body: Value) -> Result<Self, InvalidManifest> {
        leave_out_empty(&mut body);
        let kind = kind_of(&body)?;
        let name = text(&body["metadata"], "name")
            .ok_or(InvalidManifest { path: "metadata.name", rule: "must be a text and not empty" })?;
        for (path, named) in [
            ("apiVersion", &body["apiVersion"]),
            ("kind", &body["kind"]),
            ("metadata.name", &body["metadata"]["name"]),
            ("metadata.namespace", &body["metadata"]["namespace"]),
        ] {
            if named.as_str().is_some_and(|text| text.contains(is_unprintable)) {
                return Err(InvalidManifest { path, rule: "must have no control characters" });
            }
        }
        if body.get("status").is_some() {
            return Err(InvalidManifest { path: "status", rule: "is written by the cluster, not desired" });
        }
        for (member, path) in SERVER_METADATA {
            if body["metadata"].get(member).is_some() {
                return Err(InvalidManifest { path, rule: "is written by the API server, not desired" });
            }
        }
        let mut canonical = String::with_capacity(512);
        crate::hash::write_canonical(&body, &mut canonical);
        if canonical.len() > MANIFEST_BYTES_MAX {
            return Err(InvalidManifest { path: "", rule: "must be at most 1 MiB of JSON" });
        }
        let key = ObjectKey::of_kind(&kind, text(&body["metadata"], "namespace"), name);
        let hash = ContentHash::of_bytes(canonical.as_bytes());
        Ok(Self(Arc::new(Inner { kind, key, hash, body })))
    }

    /// Group, version and kind.
    #[must_use]
    pub fn kind(&self) -> &GroupVersionKind {
        &self.0.kind
    }

    /// Which object this is.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.0.key
    }

    /// Hash of the content.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.0.hash
    }

    /// The object itself.
    #[must_use]
    pub fn body(&self) -> &Value {
        &self.0.body
    }

    /// True for a Secret: nothing shows the values of its data.
    #[must_use]
    pub fn holds_secrets(&self) -> bool {
        self.kind().group.is_empty() && &*self.kind().kind == "Secret"
    }

    /// The object, with [`HIDDEN`] in place of each value of a Secret's data.
    #[must_use]
    pub fn shown(&self) -> Value {
        let mut body = self.body().clone();
        secret_values(&mut body).for_each(|value| *value = HIDDEN.into());
        body
    }
}

/// The values of the data of a Secret; none of any other object.
pub fn secret_values(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let is_secret = body["apiVersion"] == "v1" && body["kind"] == "Secret";
    let members = body.as_object_mut().into_iter().flatten().filter(move |_| is_secret);
    let data = members.filter(|(name, _)| matches!(name.as_str(), "data" | "stringData"));
    data.filter_map(|(_, data)| data.as_object_mut()).flat_map(serde_json::Map::values_mut)
}

impl fmt::Debug for Manifest {
    /// The key and the start of the hash: a body may hold what is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Manifest({} #{})", self.key(), self.hash().short(8))
    }
}

impl Serialize for Manifest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Reads `apiVersion` and `kind` of any object.
///
/// # Errors
/// [`InvalidManifest`] when one is missing, empty or has more than one slash.
pub fn kind_of(body: &Value) -> Result<GroupVersionKind, InvalidManifest> {
    let rule = "must be a text and not empty";
    let api_version = text(body, "apiVersion").ok_or(InvalidManifest { path: "apiVersion", rule })?;
    let kind = text(body, "kind").ok_or(InvalidManifest { path: "kind", rule })?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if version.is_empty() || version.contains('/') {
        return Err(InvalidManifest { path: "apiVersion", rule: "must be `version` or `group/version`" });
    }
    Ok(GroupVersionKind::new(group, version, kind))
}

/// True for what a terminal takes for a command, and what changes the order in which a text is read. A name with it would be shown as
/// something else, or do something, wherever people look at it.
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    let is_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    character.is_control() || is_direction
}

fn text<'a>(object: &'a Value, member: &str) -> Option<&'a str> {
    object.get(member)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_manifest_knows_its_key_kind_and_hash() {
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n"}});
        let manifest = Manifest::new(body.clone()).unwrap();
        assert_eq!(manifest.kind(), &GroupVersionKind::new("apps", "v1", "Deployment"));
        assert_eq!(manifest.key().to_string(), "Deployment.apps n/web");
        assert_eq!(manifest.hash(), ContentHash::of(&body));
    }

    #[test]
    fn what_a_secret_holds_is_not_shown() {
        let with_data = |kind: &str, value: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "s"}, "data": {"key": value}, "stringData": {"other": value}});
        let secret = Manifest::new(with_data("Secret", "hunter2")).unwrap();
        assert_eq!(secret.shown(), with_data("Secret", HIDDEN));
        let map = Manifest::new(with_data("ConfigMap", "hunter2")).unwrap();
        assert_eq!(map.shown(), *map.body());
    }

    #[test]
    fn what_only_the_server_writes_is_refused() {
        let with = |path: &str, value: Value| {
            let mut body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
            *body.pointer_mut(path).unwrap() = value;
            Manifest::new(body)
        };
        assert_eq!(with("/metadata", json!({"name": "c", "uid": "1"})).unwrap_err().path, "metadata.uid");
        assert_eq!(with("/metadata", json!({})).unwrap_err().path, "metadata.name");
        assert_eq!(with("/kind", json!("")).unwrap_err().path, "kind");
        assert_eq!(with("/apiVersion", json!("a/b/c")).unwrap_err().path, "apiVersion");
    }

    /// What a program writes otherwise in a manifest.
    type Change<'a> = &'a dyn Fn(&mut Value);

    #[test]
    fn what_only_the_server_writes_is_left_out_where_it_holds_nothing() {
        let written = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"strategy": {}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
        });
        let with = |change: Change<'_>| {
            let mut body = written.clone();
            change(&mut body);
            Manifest::new(body)
        };
        let changes: [(&str, Change<'_>); 8] = [
            ("kubectl create deployment", &|body| {
                body["metadata"]["creationTimestamp"] = Value::Null;
                body["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
                body["status"] = json!({});
            }),
            ("kubectl create service", &|body| body["status"] = json!({"loadBalancer": {}})),
            ("controller-gen", &|body| {
                body["status"] = json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": []});
            }),
            ("kubectl create poddisruptionbudget", &|body| {
                body["status"] = json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0});
            }),
            ("a null status", &|body| body["status"] = Value::Null),
            ("an exporter", &|body| body["metadata"]["managedFields"] = json!([])),
            ("another one", &|body| {
                body["metadata"]["uid"] = "".into();
                body["metadata"]["resourceVersion"] = "".into();
                body["metadata"]["generation"] = 0.into();
            }),
            ("one with false", &|body| body["status"] = json!({"ready": false})),
        ];
        for (who, change) in changes {
            assert_eq!(with(change).unwrap().hash(), ContentHash::of(&written), "{who}");
        }
        let held: [Change<'_>; 3] = [
            &|body| body["status"] = json!({"replicas": 1}),
            &|body| body["metadata"]["generation"] = 3.into(),
            &|body| body["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into(),
        ];
        assert!(held.iter().all(|change| with(*change).is_err()));
    }

    #[test]
    fn a_name_that_a_terminal_takes_for_a_command_is_refused() {
        for (path, name) in [
            ("metadata.name", "a\u{1b}[2J"),
            ("metadata.name", "a\u{7f}"),
            ("metadata.name", "a\u{9b}"),
            ("metadata.name", "a\u{202e}b"),
            ("metadata.namespace", "a\nb"),
            ("kind", "Config\u{0}Map"),
            ("apiVersion", "v1\t"),
        ] {
            let mut body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
            let (parent, member) = path.split_once('.').map_or((None, path), |(one, two)| (Some(one), two));
            match parent {
                Some(parent) => body[parent][member] = json!(name),
                None => body[member] = json!(name),
            }
            assert_eq!(Manifest::new(body).unwrap_err().path, path, "{name:?}");
        }
        let printable = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ä:b"}});
        assert!(Manifest::new(printable).is_ok());
    }
}
