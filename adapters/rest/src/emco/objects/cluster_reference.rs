//! Cluster references.

use dcm_core::logical_cloud::{self, ReferenceDraft};
use dcm_core::name::API_NAME_MAX;
use dcm_core::service::PartDraft;
use serde::{Deserialize, Serialize};

use super::{Metadata, at_most, field_of_part};
use crate::emco::body::{Document, Shape};

/// Membership of a cluster in a logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ClusterReference {
    pub(crate) metadata: Metadata,
    spec: ClusterReferenceSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClusterReferenceSpec {
    cluster_provider: String,
    cluster: String,
    #[serde(rename = "loadBalancerIP")]
    load_balancer: String,
    /// The user's certificate there, once it is issued: PEM, in base64. What is sent is passed over.
    certificate: String,
}

impl Document for ClusterReference {
    const SHAPE: Shape = Shape::Of(&[
        ("metadata", Metadata::SHAPE),
        (
            "spec",
            Shape::Of(&[
                ("clusterProvider", Shape::Any),
                ("cluster", Shape::Any),
                ("loadBalancerIP", Shape::Any),
            ]),
        ),
    ]);

    fn check(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
        at_most(API_NAME_MAX, &self.spec.cluster_provider, lines);
        at_most(API_NAME_MAX, &self.spec.cluster, lines);
    }
}

impl ClusterReference {
    pub(crate) fn into_draft(self) -> PartDraft {
        let ClusterReferenceSpec { cluster_provider, cluster, load_balancer, .. } = self.spec;
        PartDraft::Reference(ReferenceDraft {
            provider: cluster_provider,
            cluster,
            load_balancer: Some(load_balancer),
            ..ReferenceDraft::with_metadata(self.metadata.into())
        })
    }

    /// Where the document has what a draft has at a path.
    pub(crate) fn field(path: &str) -> String {
        field_of_part(path, |field| match field {
            "provider" => "clusterProvider",
            "loadBalancer" => "loadBalancerIP",
            field => field,
        })
    }

    /// A reference, with the certificate that was issued there.
    pub(crate) fn of(reference: &logical_cloud::ClusterReference, certificate: String) -> Self {
        let spec = ClusterReferenceSpec {
            cluster_provider: reference.cluster.provider.to_string(),
            cluster: reference.cluster.cluster.to_string(),
            load_balancer: reference.load_balancer.to_string(),
            certificate,
        };
        Self { metadata: Metadata::of(reference.metadata.clone()), spec }
    }
}
