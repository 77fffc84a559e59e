//! What callers with limits are held to.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::logical_cloud::{DNS_IMAGE, LogicalCloud, MeshDns, ServiceMesh, check_labels};
use crate::name::DnsZone;
use crate::refusal::{Checks, Path};

use super::allow_list::AllowList;
use super::systems::Reserved;
use crate::pod_security::PodSecurityLevel;

/// The label by which Kubernetes decides which pods may run in a namespace, and the value that keeps them off their host: no
/// privileged containers, no paths, ports, processes and network of the host (Kubernetes documentation, "Pod Security Standards").
pub const POD_SECURITY: (&str, &str) = (PodSecurityLevel::LABEL, PodSecurityLevel::Baseline.as_str());

/// What callers with limits are held to. One value holds for a caller's request, so policies of single projects are such values, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Labels that the namespace of a cloud has which such a caller makes. Others may change them. Default: [`POD_SECURITY`].
    pub namespace_labels: BTreeMap<String, String>,
    /// What such a caller may grant and bring. Default: what Kubernetes' role `admin` holds.
    pub allow_list: AllowList,
    /// Namespaces and labels that are not for such a caller. Default: those of well-known systems.
    pub reserved: Reserved,
    /// The zone below which the meshes of such a caller's clouds have their names: that of a cloud is its name, a dot and this. Default: none, so
    /// that it is [`ServiceMesh::default_zone`].
    pub mesh_zone_suffix: Option<DnsZone>,
}

impl Default for Limits {
    fn default() -> Self {
        let (key, value) = POD_SECURITY;
        Self {
            namespace_labels: BTreeMap::from([(key.to_owned(), value.to_owned())]),
            allow_list: AllowList::default(),
            reserved: Reserved::default(),
            mesh_zone_suffix: None,
        }
    }
}

impl Limits {
    /// The default limits, made once in a process: their allow list costs more than most requests, each of which has limits.
    #[must_use]
    pub fn shared_default() -> Arc<Self> {
        static DEFAULT: LazyLock<Arc<Limits>> = LazyLock::new(Arc::default);
        DEFAULT.clone()
    }

    /// Checks that the labels may be those of a logical cloud's namespace.
    pub fn check(&self, at: &Path, checks: &mut Checks) {
        check_labels(&self.namespace_labels, at, checks);
    }

    /// The zone below the suffix for the mesh of a cloud of this name; none without a suffix.
    pub(super) fn zone_of_suffix(&self, cloud: &str) -> Option<DnsZone> {
        DnsZone::new(format!("{cloud}.{}", self.mesh_zone_suffix.as_ref()?)).ok()
    }

    /// The zones that such a caller may give the mesh of a cloud: that below the suffix, and the default one.
    pub(super) fn mesh_zones(&self, cloud: &LogicalCloud) -> impl Iterator<Item = DnsZone> {
        let default = ServiceMesh::default_zone(cloud.name(), cloud.project());
        self.zone_of_suffix(cloud.name().as_str()).into_iter().chain(default)
    }

    /// The names of a cloud's mesh, where such a caller could not give them.
    pub(super) fn strong_dns<'a>(&self, cloud: &'a LogicalCloud) -> Option<&'a MeshDns> {
        let dns = cloud.service_mesh().and_then(ServiceMesh::dns)?;
        let is_own = self.mesh_zones(cloud).any(|own| own == *dns.zone());
        (!is_own || dns.image() != DNS_IMAGE).then_some(dns)
    }

    /// True for a label that is not such a caller's to set.
    pub(super) fn guards(&self, key: &str) -> bool {
        self.namespace_labels.contains_key(key) || self.reserved.has_label(key)
    }
}
