//! What a caller must be given to do an operation.
//!
//! As much as an adapter to a real cluster comes to use: it reads an object before it changes it, and patches or replaces
//! it. In one thing it is stricter than Kubernetes: whoever writes a role or a binding must be given to `escalate` or
//! `bind`, also when he has all that the role gives.

use std::sync::Arc;

use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{Access, Part};
use serde_json::Value;

use super::kind::{CERTIFICATES_GROUP, Kind, RBAC_GROUP};
use super::rbac::Roles;
use super::request::Operation;

/// All accesses that an operation needs.
pub(super) fn needed(objects: &impl Roles, operation: &Operation) -> Vec<Access> {
    match operation {
        // A credential is tried with the rights of its user alone.
        Operation::Info | Operation::Kinds | Operation::Review { .. } | Operation::TryCredential(_) => {
            Vec::new()
        }
        Operation::Uid => vec![access("get", "", "namespaces", "", (None, "kube-system"))],
        Operation::Get { kind, key } => vec![on("get", kind, key)],
        Operation::List { kind, namespace } => vec![on_all("list", kind, namespace.as_ref())],
        Operation::Create { kind, key, body }
        | Operation::Rehearse { kind, key, body, observed: None, .. } => {
            // The name of what is not there yet is not checked.
            let create = on_all("create", kind, key.namespace.as_ref());
            [create].into_iter().chain(granting(kind, key, body)).collect()
        }
        Operation::Update { kind, key, body, .. } | Operation::Rehearse { kind, key, body, .. } => {
            changing(kind, key).into_iter().chain(granting(kind, key, body)).collect()
        }
        Operation::Release { kind, key, .. } => changing(kind, key).into(),
        Operation::SetPart { kind, key, part: Part::Text { .. }, .. } => changing(kind, key).into(),
        Operation::SetPart { kind, key, part: Part::Subjects(_), .. } => {
            let binding = objects.one(&kind.kind, key.namespace.as_deref(), &key.name).unwrap_or_default();
            changing(kind, key).into_iter().chain(granting(kind, key, &binding)).collect()
        }
        Operation::Delete { kind, key, .. } => vec![on("delete", kind, key)],
        Operation::Watch { selection } => {
            ["list", "watch"].map(|verb| on_all(verb, &selection.kind, None)).into()
        }
        Operation::Approve { key, .. } => approving(objects, key).into(),
        Operation::IssueToken(TokenRequest { namespace, service_account, .. }) => {
            vec![access("create", "", "serviceaccounts", "token", (Some(namespace), service_account))]
        }
        Operation::Contents { namespace, .. } => {
            let namespaced = Kind::all().iter().filter(|kind| kind.namespaced);
            namespaced.map(|kind| on_all("list", &kind.gvk, Some(namespace))).collect()
        }
    }
}

fn changing(kind: &GroupVersionKind, key: &ObjectKey) -> [Access; 3] {
    ["get", "patch", "update"].map(|verb| on(verb, kind, key))
}

/// Nobody may give what he does not have, but by these verbs.
fn granting(kind: &GroupVersionKind, key: &ObjectKey, body: &Value) -> Option<Access> {
    let (verb, resource, name) = match (&*kind.group, &*kind.kind) {
        (RBAC_GROUP, "Role") => ("escalate", "roles", &*key.name),
        (RBAC_GROUP, "ClusterRole") => ("escalate", "clusterroles", &*key.name),
        (RBAC_GROUP, "RoleBinding" | "ClusterRoleBinding") => {
            let role = &body["roleRef"];
            let resource = if role["kind"] == "Role" { "roles" } else { "clusterroles" };
            ("bind", resource, role["name"].as_str().unwrap_or_default())
        }
        _ => return None,
    };
    Some(access(verb, RBAC_GROUP, resource, "", (key.namespace.as_ref(), name)))
}

/// Of the request, and for the signer that it names.
fn approving(objects: &impl Roles, key: &ObjectKey) -> [Access; 2] {
    let request = objects.one("CertificateSigningRequest", None, &key.name).unwrap_or_default();
    let signer = request["spec"]["signerName"].as_str().unwrap_or_default();
    [
        access("patch", CERTIFICATES_GROUP, "certificatesigningrequests", "approval", (None, &key.name)),
        access("approve", CERTIFICATES_GROUP, "signers", "", (None, signer)),
    ]
}

fn on(verb: &str, kind: &GroupVersionKind, key: &ObjectKey) -> Access {
    Access { name: key.name.clone(), ..on_all(verb, kind, key.namespace.as_ref()) }
}

fn on_all(verb: &str, kind: &GroupVersionKind, namespace: Option<&Arc<str>>) -> Access {
    access(verb, &kind.group, Kind::find(kind).map_or("", |kind| kind.plural), "", (namespace, ""))
}

/// An access at a namespace and name: to one object, or to all of a namespace or cluster when the name is empty.
fn access(
    verb: &str,
    group: &str,
    resource: &str,
    subresource: &str,
    at: (Option<&Arc<str>>, &str),
) -> Access {
    Access {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        subresource: subresource.into(),
        name: at.1.into(),
        namespace: at.0.cloned(),
    }
}
