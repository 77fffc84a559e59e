//! Reading the service mesh of a logical cloud.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::authority::AuthorityFacts;
use crate::name::{ClusterId, DnsZone, LogicalCloudName, Namespace, ProjectName, TrustDomain};

use super::authorities;
use super::error::{Error, Kind};
use super::load;
use super::logical_clouds::LogicalClouds;

/// The service mesh of a logical cloud. Nothing of it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServiceMeshDocument {
    /// The namespace of its control plane, on each cluster.
    pub namespace: Namespace,
    /// The trust domain of its workloads: the control planes have to name it.
    pub trust_domain: TrustDomain,
    /// The zone of its names. Absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<DnsZone>,
    /// The root of its certificate authorities, which its workloads trust. Absent before the first apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<MeshAuthority>,
    /// The certificate authority of each cluster, which signs for the workloads there.
    pub clusters: BTreeMap<ClusterId, MeshAuthority>,
}

/// A certificate authority of a service mesh, without its private key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MeshAuthority {
    /// Its certificate, in PEM.
    pub certificate: String,
    /// What its certificate says.
    pub facts: AuthorityFacts,
    /// When it is made anew. Absent for a root: it is not renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Timestamp>,
}

impl LogicalClouds {
    /// The service mesh of a logical cloud, as its documents are now, with the certificate authorities that are stored for it.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the logical cloud, and for the service mesh of one that has none.
    pub async fn service_mesh(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<ServiceMeshDocument, Error> {
        let loaded = load::load(&*self.documents, project, cloud).await?;
        let mesh = loaded
            .cloud
            .service_mesh()
            .ok_or_else(|| Error::not_found(Kind::ServiceMesh, format_args!("of logical cloud {cloud}")))?;
        let stored = authorities::list(&*self.documents, &loaded.place).await?;
        let (root, clusters) = stored.shown();
        let (namespace, trust_domain) = (mesh.namespace().clone(), loaded.place.identity().trust_domain());
        let zone = mesh.dns().map(|dns| dns.zone().clone());
        Ok(ServiceMeshDocument { namespace, trust_domain, zone, root, clusters })
    }
}
