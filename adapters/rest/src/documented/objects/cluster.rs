//! Registered clusters.

use std::collections::BTreeMap;

use dcm_core::kubeconfig::{Admin, UserEndpoint};
use dcm_core::logical_cloud::{MetadataDraft, Notes};
use dcm_core::name::Namespace;
use dcm_core::refusal::Rule as _;
use dcm_core::secret::Secret;
use dcm_core::service::{Change, RegisteredCluster, Registration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::METADATA;
use crate::access::Asker;
use crate::documented::body::{Shaped, schema_of};
use crate::documented::openapi::Rules;
use crate::documented::problem::Problem;

/// What is to be registered of a cluster. What a change does not name stays as it is.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Cluster")]
pub(crate) struct ClusterBody {
    /// Name and notes, as a whole.
    #[serde(default)]
    metadata: Option<MetadataDraft>,
    /// How it is reached, and what is said of it.
    #[serde(default)]
    spec: ClusterSpec,
}

#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ClusterSpec {
    /// The administrator's kubeconfig, YAML or JSON, as a text. It is never answered.
    kubeconfig: Option<String>,
    /// Where users reach the cluster, who get this in their kubeconfigs, as a whole; with an empty `server` and nothing else: where the
    /// administrator's kubeconfig leads to.
    user_endpoint: Option<UserEndpoint>,
    /// Labels, which cluster selectors look at.
    labels: Option<BTreeMap<String, String>>,
    /// The namespace that admin clouds use there; empty: `default`.
    namespace: Option<String>,
}

impl Shaped for ClusterBody {
    const RULES: Rules = &[METADATA];

    schema_of!(ClusterBody);
}

impl ClusterBody {
    /// Its name; empty where it names none.
    pub(crate) fn name(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.name)
    }

    /// The kubeconfig that it brings.
    pub(crate) fn kubeconfig(&self) -> Option<Secret> {
        self.spec.kubeconfig.as_ref().map(Secret::new)
    }

    /// What is registered by this, of what is or of what was made of its kubeconfig.
    pub(crate) fn onto(&self, old: Registration) -> Result<Registration, Problem> {
        let Self { metadata, spec } = self.clone();
        let notes = metadata.map(|metadata| {
            let MetadataDraft { description, user_data1, user_data2, .. } = metadata;
            Notes { description, user_data1, user_data2 }
        });
        let namespace = match spec.namespace.as_deref() {
            None => old.namespace,
            Some("") => None,
            Some(text) => Some(
                Namespace::new(text).map_err(|invalid| Problem::field("spec.namespace", invalid.rule()))?,
            ),
        };
        Ok(Registration {
            kubeconfig: spec.kubeconfig.map_or(old.kubeconfig, Secret::new),
            user_endpoint: match spec.user_endpoint {
                None => old.user_endpoint,
                Some(UserEndpoint { server, certificate_authority_data: None, tls_server_name: None })
                    if server.is_empty() =>
                {
                    None
                }
                endpoint => endpoint,
            },
            labels: spec.labels.unwrap_or(old.labels),
            namespace,
            notes: notes.unwrap_or(old.notes),
            key_values: old.key_values,
            id: old.id,
        })
    }

    /// Where the body has what a registration has at a path.
    pub(crate) fn field(path: &str) -> String {
        match path.split(['.', '[']).next().unwrap_or_default() {
            "description" | "userData1" | "userData2" => format!("metadata.{path}"),
            "labels" | "namespace" | "kubeconfig" | "userEndpoint" => format!("spec.{path}"),
            // What the kubeconfig says.
            _ => format!("spec.kubeconfig: {path}"),
        }
    }
}

/// A registered cluster, without its kubeconfig.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cluster")]
pub(crate) struct ClusterAnswer {
    /// Name and notes.
    metadata: MetadataDraft,
    /// How it is reached, and what is said of it.
    spec: ClusterAnswerSpec,
    /// What became of it.
    status: ClusterAnswerStatus,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClusterSpec")]
struct ClusterAnswerSpec {
    /// Where its API server is; absent where the kubeconfig does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// Where users reach it; absent where they get what the kubeconfig names.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_endpoint: Option<UserEndpoint>,
    /// Labels, which cluster selectors look at.
    labels: BTreeMap<String, String>,
    /// The namespace that admin clouds use there; absent: `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClusterStatus")]
struct ClusterAnswerStatus {
    /// All work on it is paused.
    stopped: bool,
    /// The kubeconfig leads to another server, or trusts other authorities, than the accepted one: it is not used until it is accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    moved: bool,
    /// When it was registered; and by whom, to who may register clusters.
    created: Change,
    /// When that was last changed, and by whom, alike.
    changed: Change,
}

impl ClusterAnswer {
    /// One that is paused, or not. Who registered it and why is nobody's business but of those who may.
    pub(crate) fn of(cluster: RegisteredCluster, stopped: bool, asker: &Asker) -> Self {
        let RegisteredCluster { registration, created, changed, is_moved: moved, .. } = cluster;
        let shown = |change: Change| match asker.rights.has_clusters() {
            true => change,
            false => Change { by: String::new(), why: String::new(), request_id: String::new(), ..change },
        };
        let (created, changed) = (shown(created), shown(changed));
        let Registration { id, kubeconfig, user_endpoint, labels, namespace, notes, .. } = registration;
        let Notes { description, user_data1, user_data2 } = notes;
        let server = Admin::read(&kubeconfig).ok().map(|admin| admin.server().to_owned());
        Self {
            metadata: MetadataDraft { name: id.cluster.to_string(), description, user_data1, user_data2 },
            spec: ClusterAnswerSpec {
                server,
                user_endpoint,
                labels,
                namespace: namespace.map(|one| one.to_string()),
            },
            status: ClusterAnswerStatus { stopped, moved, created, changed },
        }
    }
}
