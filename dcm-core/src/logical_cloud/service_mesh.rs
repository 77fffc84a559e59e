//! The service mesh of a logical cloud.

use crate::name::{LogicalCloudName, Namespace};
use crate::port::key_source::KeyType;
use crate::refusal::{Checks, Path};

use super::draft::ServiceMeshDraft;
use super::key_type;

/// What the name of a mesh namespace begins with; the name of the logical cloud follows.
pub const MESH_NAMESPACE_PREFIX: &str = "istio-";

/// The service mesh of a logical cloud: on each cluster a namespace for its control plane, with an intermediate authority of that cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceMesh {
    namespace: Namespace,
    key: KeyType,
}

impl ServiceMesh {
    /// Checks a draft for the logical cloud of a name, with its own namespace.
    pub(super) fn check(
        draft: &ServiceMeshDraft,
        cloud: &str,
        own: Option<&Namespace>,
        at: &Path,
        checks: &mut Checks,
    ) -> Option<Self> {
        let namespace = namespace(cloud, own, at, checks);
        let key = key_type::check(draft.key.as_deref(), &at.field("key"), checks);
        Some(Self { namespace: namespace?, key: key? })
    }

    /// The namespace of the control plane: `istio-` and the name of the logical cloud.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The type of the private keys of its authorities.
    #[must_use]
    pub fn key(&self) -> KeyType {
        self.key
    }
}

fn namespace(cloud: &str, own: Option<&Namespace>, at: &Path, checks: &mut Checks) -> Option<Namespace> {
    // A name that is refused itself is not refused here again.
    LogicalCloudName::new(cloud).ok()?;
    let text = format!("{MESH_NAMESPACE_PREFIX}{cloud}");
    match Namespace::new(&text) {
        Ok(namespace) if own == Some(&namespace) => {
            let rule = "the namespace of the mesh must differ from that of the logical cloud; give the cloud another one";
            checks.refuse(at, &text, rule);
            None
        }
        Ok(namespace) => Some(namespace),
        Err(error) => {
            let rule = format!(
                "the namespace of the mesh must be a legal one ({}); take a shorter or simpler name of the cloud",
                error.rule
            );
            checks.refuse(at, &text, rule);
            None
        }
    }
}

impl From<ServiceMesh> for ServiceMeshDraft {
    fn from(mesh: ServiceMesh) -> Self {
        let key = (mesh.key != KeyType::default()).then(|| mesh.key.as_str().to_owned());
        Self { key }
    }
}
