//! Extra manifests: objects that come with a logical cloud on each of its clusters.
//!
//! They live in the cloud's namespace, whatever its level; one without a namespace gets it. Refused are
//! - in every cloud: kinds that have no namespace, as far as Kubernetes brings them along (others fail on the cluster,
//!   which knows them); lists; and Secrets, as a document holds secrets only in declared, encrypted fields;
//! - in standard clouds also what gives rights or changes limits: everything of `rbac.authorization.k8s.io`,
//!   ResourceQuota and LimitRange. Permissions and quotas say these things, where they are checked.
//!
//! A number with a fraction where a kind of Kubernetes has integers is refused, too.
//!
//! A `status` is left out, with a warning if it holds something.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::manifest::{Manifest, ObjectKey};
use crate::name::Namespace;
use crate::refusal::{Checks, Path};

use super::fractions;
use super::level::Level;

/// Kinds without a namespace that Kubernetes itself brings along, by group.
const CLUSTER_KINDS: [(&str, &[&str]); 16] = [
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    ("admissionregistration.k8s.io", &["*"]),
    ("apiextensions.k8s.io", &["*"]),
    ("apiregistration.k8s.io", &["*"]),
    ("authentication.k8s.io", &["*"]),
    ("authorization.k8s.io", &["*"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("flowcontrol.apiserver.k8s.io", &["*"]),
    ("internal.apiserver.k8s.io", &["*"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["*"]),
    ("policy", &["PodSecurityPolicy"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "DeviceTaintRule", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
];

/// Checks the extra manifests of a cloud and puts them into its namespace, in the order of their keys.
pub(super) fn check(
    bodies: Vec<Value>,
    namespace: &Namespace,
    level: Level,
    at: &Path,
    checks: &mut Checks,
) -> Vec<Manifest> {
    let mut keys: BTreeSet<ObjectKey> = BTreeSet::new();
    let mut manifests = Vec::with_capacity(bodies.len());
    for (index, body) in bodies.into_iter().enumerate() {
        let at = at.item(index);
        let Some(manifest) = one(body, namespace, level, &at, checks) else {
            continue;
        };
        if keys.insert(manifest.key().clone()) {
            manifests.push(manifest);
        } else {
            checks.refuse(&at, &manifest.key().to_string(), "is in the list twice");
        }
    }
    manifests.sort_by(|one, other| one.key().cmp(other.key()));
    manifests
}

fn one(mut body: Value, own: &Namespace, level: Level, at: &Path, checks: &mut Checks) -> Option<Manifest> {
    match &body["metadata"]["namespace"] {
        Value::Null => {
            if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("namespace".into(), own.as_str().into());
            }
        }
        Value::String(namespace) if namespace == own.as_str() => {}
        other => {
            let rule = format!("must be {own}, the cloud's namespace; left out, it is filled in");
            checks.refuse(&at.field("metadata").field("namespace"), other.as_str().unwrap_or(""), rule);
            return None;
        }
    }
    // The cluster writes it. What it holds is warned of.
    if let Some(members) = body.as_object_mut() {
        members.remove("status");
    }
    let manifest = match Manifest::new(body) {
        Ok(manifest) => manifest,
        Err(error) => {
            let at = if error.path.is_empty() { at.clone() } else { at.field(error.path) };
            checks.refuse(&at, "", error.rule);
            return None;
        }
    };
    if let Some(rule) = refused_kind(&manifest, level) {
        checks.refuse(&at.field("kind"), &manifest.kind().kind, rule);
        return None;
    }
    let misplaced = fractions::misplaced(&manifest);
    for below in &misplaced {
        let rule = "must be an integer: in this kind only quantities take a fraction; put it in quotes if a text is meant";
        checks.refuse(&at.below(below), "", rule);
    }
    misplaced.is_empty().then_some(manifest)
}

fn refused_kind(manifest: &Manifest, level: Level) -> Option<&'static str> {
    let (group, kind) = (&*manifest.kind().group, &*manifest.kind().kind);
    let cluster_scoped = CLUSTER_KINDS
        .iter()
        .any(|(known, kinds)| *known == group && kinds.iter().any(|known| *known == "*" || *known == kind));
    if cluster_scoped {
        Some("has no namespace: an extra manifest lives in the cloud's namespace")
    } else if kind.ends_with("List") && manifest.body()["items"].is_array() {
        Some("is a list: give each object by itself")
    } else if group.is_empty() && kind == "Secret" {
        Some("would lie in the documents in clear: create Secrets in the cluster")
    } else if level == Level::Standard && group == "rbac.authorization.k8s.io" {
        Some("gives rights: say it as a permission, or make the cloud privileged")
    } else if level == Level::Standard && group.is_empty() && matches!(kind, "ResourceQuota" | "LimitRange") {
        Some("changes limits: say it as a quota, or make the cloud privileged")
    } else {
        None
    }
}
