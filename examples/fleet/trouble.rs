//! What is wrong with some clusters.

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::Access;
use dcm_sync::sim::{Link, Rights, SimCluster};
use serde_json::json;

/// Something that hinders work on a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// It can't be reached.
    Cut,
    /// Roles may not be made there.
    Denied,
    /// Certificates are approved and never issued.
    NoSigner,
    /// Somebody else has a quota of the name there already, and the namespace, too.
    Foreign,
    /// Nobody may approve certificates there but a person.
    NotApproved,
}

impl Trouble {
    /// What the counted cluster of a number has: most have nothing.
    pub(crate) fn of(number: usize) -> Option<Self> {
        match number {
            _ if number % 41 == 17 => Some(Self::Cut),
            _ if number % 97 == 31 => Some(Self::Denied),
            _ if number % 131 == 77 => Some(Self::NoSigner),
            _ if number % 173 == 60 => Some(Self::Foreign),
            _ => None,
        }
    }

    /// Lets it happen; what is foreign is in a namespace of this name.
    pub(crate) fn befall(self, cluster: &SimCluster, namespace: &str) {
        match self {
            Self::Cut => cluster.set_link(Link::Cut),
            Self::Denied => refuse(cluster, "create", "rbac.authorization.k8s.io", "roles", ""),
            Self::NotApproved => {
                refuse(cluster, "patch", "certificates.k8s.io", "certificatesigningrequests", "approval");
            }
            Self::NoSigner => cluster.server(|server| server.set_signer(None)),
            Self::Foreign => cluster.server(|server| {
                let kind = GroupVersionKind::new("", "v1", "Namespace");
                let key = ObjectKey::new("".into(), "Namespace".into(), None, namespace.into());
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                // There is nothing of the name before.
                drop(server.create_as("another-team", &kind, &key, &body));
            }),
        }
    }
}

fn refuse(cluster: &SimCluster, verb: &str, group: &str, resource: &str, subresource: &str) {
    let access = Access {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        subresource: subresource.into(),
        name: "".into(),
        namespace: None,
    };
    cluster.server(|server| server.set_rights(Rights::AllBut(vec![access])));
}
