//! The namespace of a logical cloud's mesh, the secret `cacerts` from which the control plane takes its authority, and the names of the mesh.

pub(super) mod dns;

pub use dns::{CLUSTER_COREFILE, MESH_DNS};

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::logical_cloud::ServiceMesh;
use crate::name::ClusterId;
use crate::secret::Secret;

use super::{Error, STAGE_MESH, STAGE_MESH_NAMESPACE, Steps, naming};

/// The secret of which Istio's control plane takes an authority that it did not make itself.
pub const CA_CERTS: &str = "cacerts";

/// Label of the namespace of a control plane: the network of its cluster. Pods of two networks reach each other through gateways alone.
/// <https://istio.io/latest/docs/reference/config/labels/>
pub const LABEL_NETWORK: &str = "topology.istio.io/network";

/// The files of [`CA_CERTS`].
const FILES: [&str; 4] = ["ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem"];

/// What stands in the files of an authority that is still to be made.
const TO_BE_MADE: &str = "to be made";

/// The files of the secret `cacerts` of a cluster, by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaFiles(BTreeMap<&'static str, Secret>);

impl CaFiles {
    /// The files of an authority that is still to be made: they show what an apply would do, and are not for clusters.
    #[must_use]
    pub fn to_be_made() -> Self {
        Self(FILES.map(|name| (name, Secret::new(TO_BE_MADE))).into())
    }
}

impl From<[(&'static str, Secret); 4]> for CaFiles {
    fn from(files: [(&'static str, Secret); 4]) -> Self {
        Self(files.into())
    }
}

/// Renders what is the cluster's own of a mesh. Without a cluster, the namespace names no network.
pub(super) fn render(
    mesh: &ServiceMesh,
    cluster: Option<&ClusterId>,
    files: &CaFiles,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    let labels = cluster.map(|cluster| [(LABEL_NETWORK.to_owned(), naming::network(cluster))].into());
    let namespace = core::Namespace {
        metadata: ObjectMeta { name: Some(mesh.namespace().to_string()), labels, ..ObjectMeta::default() },
        ..core::Namespace::default()
    };
    steps.object(STAGE_MESH_NAMESPACE, &namespace)?;
    let bytes = |file: &Secret| ByteString(file.expose().as_bytes().to_vec());
    let data = files.0.iter().map(|(name, file)| ((*name).to_owned(), bytes(file))).collect();
    let secret = core::Secret {
        metadata: ObjectMeta {
            name: Some(CA_CERTS.to_owned()),
            namespace: Some(mesh.namespace().to_string()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        type_: Some("Opaque".to_owned()),
        ..core::Secret::default()
    };
    steps.object(STAGE_MESH, &secret)
}
