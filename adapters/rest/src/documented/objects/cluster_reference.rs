//! Cluster references.

use axum::http::StatusCode;
use dcm_core::logical_cloud::{ClusterReference, LogicalCloud, ReferenceDraft};
use dcm_core::name::ReferenceName;
use dcm_core::service::{Kind, PartDraft, PartName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, METADATA, Object, Part, field_of_part};
use crate::documented::body::schema_of;
use crate::documented::openapi::{Rules, Shape};
use crate::documented::problem::Problem;

/// Which cluster the logical cloud is in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "ClusterReference", inline)]
pub(crate) struct ReferenceSpec {
    /// The cluster provider's name.
    pub(crate) cluster_provider: String,
    /// The cluster's name there.
    pub(crate) cluster_name: String,
    /// IPv4 or IPv6 address of the mesh's load balancer; absent, empty or `0.0.0.0` when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) loadbalancer_ip: Option<String>,
}

/// What the making of a reference is answered with.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ReferencedCluster")]
pub(crate) struct Cluster {
    /// The cluster's name.
    cluster_name: String,
    /// The address of the mesh's load balancer.
    loadbalancer_ip: Option<String>,
}

impl Part for ReferenceSpec {
    schema_of!(Object<ReferenceSpec>);

    type Name = ReferenceName;
    type Model = ClusterReference;
    const KIND: Kind = Kind::Reference;
    const ONE: &'static str = "a cluster reference";
    const MANY: &'static str = "cluster references";
    const RULES: Rules = &[
        METADATA,
        (
            "/properties/spec/properties/cluster-provider",
            "/properties/spec/properties/clusters/items/properties/provider",
        ),
        (
            "/properties/spec/properties/cluster-name",
            "/properties/spec/properties/clusters/items/properties/cluster",
        ),
        (
            "/properties/spec/properties/loadbalancer-ip",
            "/properties/spec/properties/clusters/items/properties/loadBalancer",
        ),
    ];
    const DELETION: &'static str = "By its name, or by that of its cluster where that names one reference alone. No cluster is touched before the next apply.";
    const CREATED: StatusCode = StatusCode::OK;

    fn into_draft(Object { metadata, spec }: Object<Self>) -> Result<PartDraft, Problem> {
        Ok(PartDraft::Reference(ReferenceDraft {
            provider: spec.cluster_provider,
            cluster: spec.cluster_name,
            load_balancer: spec.loadbalancer_ip,
            ..ReferenceDraft::with_metadata(metadata)
        }))
    }

    fn part_name(name: ReferenceName) -> PartName {
        PartName::Reference(name)
    }

    fn all(cloud: &LogicalCloud) -> &[ClusterReference] {
        cloud.references()
    }

    fn object(reference: &ClusterReference) -> Object<Self> {
        let draft = ReferenceDraft::from(reference.clone());
        let spec = Self {
            cluster_provider: draft.provider.clone(),
            cluster_name: draft.cluster.clone(),
            loadbalancer_ip: Some(reference.load_balancer.to_string()),
        };
        Object { metadata: draft.metadata(), spec }
    }

    fn field(_: &Value, path: &str) -> String {
        field_of_part(path, |field| match field {
            "provider" => Some("cluster-provider"),
            "cluster" => Some("cluster-name"),
            "loadBalancer" => Some("loadbalancer-ip"),
            _ => None,
        })
    }

    fn made_as() -> Shape {
        Shape::of::<Cluster>()
    }

    /// The cluster alone.
    fn made(made: Object<Self>) -> Answer<Self> {
        let Self { cluster_name, loadbalancer_ip, .. } = made.spec;
        Answer::Cluster(Cluster { cluster_name, loadbalancer_ip })
    }

    /// References to a cluster of this name, whatever its provider.
    fn aliased(cloud: &LogicalCloud, name: &ReferenceName) -> Vec<ReferenceName> {
        let to_it = |reference: &&ClusterReference| reference.cluster.cluster.as_str() == name.as_str();
        cloud.references().iter().filter(to_it).map(|reference| reference.metadata.name.clone()).collect()
    }
}
