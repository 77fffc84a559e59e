//! A logical cloud as it is written down, before anything is checked.
//!
//! Members have the document's names, so that the path of a refusal is a path in the document. An empty text means the
//! same as an absent one. There is one exception: the namespace of a permission, where an empty text is refused, as it
//! means the whole cluster in EMCO's dialect and nothing in the other.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pairs::Pairs;

/// A whole logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Draft {
    /// What it is called and what people wrote about it.
    pub metadata: MetadataDraft,
    /// What it is.
    pub spec: SpecDraft,
}

/// The specification of a logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SpecDraft {
    /// Its namespace. Default: its name, when that is a legal namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// What is done about objects that others made, change or delete, by kind: `Role`, or with the API group
    /// `Certificate.cert-manager.io`; or by object, as it is called on clusters: `Role/reader`, before its kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub object_policies: BTreeMap<String, ObjectPolicyDraft>,
    /// `standard` (default), `privileged` or `admin`; or EMCO's `0` (admin) and `1` (standard, or privileged when a
    /// permission leaves the namespace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// How it is taken off clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal: Option<RemovalDraft>,
    /// What containers get that do not say what they need. Default: small figures for what a quota holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_defaults: Option<ContainerDefaultsDraft>,
    /// Labels of the namespace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Who works in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<UserDraft>,
    /// What they may do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<PermissionDraft>,
    /// What it may use on each cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaDraft>,
    /// Where it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ReferenceDraft>,
    /// Where else it is: on each registered cluster that is selected when it is applied. `{}` selects every one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<SelectorDraft>,
    /// Notes that are kept and never rendered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key_values: Vec<KeyValuesDraft>,
    /// Objects that come with it on each cluster, in its namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
    /// Its service mesh. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_mesh: Option<ServiceMeshDraft>,
}

/// The service mesh of a logical cloud: on each cluster the namespace `istio-<name>`, with an intermediate authority of that cluster in the secret
/// `cacerts`. All verify to one root of the logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServiceMeshDraft {
    /// The private keys of its authorities: `ecdsa-p256` (default), `rsa-2048`, `rsa-3072` or `rsa-4096`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its names, which resolve on each of its clusters. Default: as they are, or else those of the default zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<MeshDnsDraft>,
}

/// The names of a service mesh: on each cluster a CoreDNS that serves a zone, and a stub domain for it in the Corefile of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MeshDnsDraft {
    /// False: no names, and nothing is changed in the Corefile. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The zone. Default: as it is, or else `<name>.<project>.mesh.internal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The image of CoreDNS. Default: as it is, or else `coredns/coredns` with the version that dcm is tested with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// What is done about the objects of one kind, or about one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ObjectPolicyDraft {
    /// When one is on a cluster already and is not ours: `refuse` (default), `adopt` (take it over without overwriting
    /// what others say), `adopt-if-equal` (only when it says all that is desired) or `overwrite`. What is taken over is
    /// given back in the end, and never deleted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub existing: String,
    /// When somebody else changes or deletes one: `correct` (default) or `report`. Whom a binding names (`subjects`) is set
    /// anew with each change of the binding even so, as a revocation is one; but for a binding that was adopted, which a
    /// revocation tells as pending where others hold that field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub drift: String,
    /// Fields that are only reported when somebody else takes them, such as `spec.hard.pods`; names with dots in quotes:
    /// `spec.hard["requests.cpu"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub report_only: Vec<String>,
}

/// How a logical cloud is taken off clusters, where whoever does it says nothing else. What is taken out of a cloud that
/// stays on a cluster, such as a permission, is always deleted there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RemovalDraft {
    /// `delete` (default), or `keep`: its objects stay on the clusters, without our marks, but for bindings: rights end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<String>,
    /// How many seconds a cluster may take, 1 and up, before nobody waits for it any more. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<i64>,
}

/// What containers get that do not say what they need, in place of the default figures. `0` gives nothing. A LimitRange among the
/// manifests comes first: what it covers is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContainerDefaultsDraft {
    /// Requests, by `cpu`, `ephemeral-storage` or `memory`; each a quantity. Where a container gets a limit and no request, its limit counts
    /// as its request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Value>,
    /// Limits, by `cpu`, `ephemeral-storage` or `memory`; each a quantity.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Value>,
}

/// Defines a draft that has a name and notes of its own beside further members.
macro_rules! named_draft {
    ($(#[$doc:meta])* $type:ident { $($(#[$member_doc:meta])* $member:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct $type {
            /// Its name.
            pub name: String,
            /// What it is for, at most 1024 characters.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub description: String,
            /// A note, at most 512 characters.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub user_data1: String,
            /// A note, at most 512 characters.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub user_data2: String,
            $($(#[$member_doc])* pub $member: $kind,)*
        }

        impl $type {
            /// Its name and notes alone.
            #[must_use]
            pub fn metadata(&self) -> MetadataDraft {
                MetadataDraft {
                    name: self.name.clone(),
                    description: self.description.clone(),
                    user_data1: self.user_data1.clone(),
                    user_data2: self.user_data2.clone(),
                }
            }

            /// A draft with this name and these notes, and else nothing.
            #[must_use]
            pub fn with_metadata(metadata: MetadataDraft) -> Self {
                let MetadataDraft { name, description, user_data1, user_data2 } = metadata;
                Self { name, description, user_data1, user_data2, ..Self::default() }
            }
        }
    };
}

/// A name and what people wrote about the thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Metadata")]
pub struct MetadataDraft {
    /// Its name.
    pub name: String,
    /// What it is for, at most 1024 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A note, at most 512 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_data1: String,
    /// A note, at most 512 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_data2: String,
}

impl MetadataDraft {
    /// Returns metadata with a name and no notes.
    #[must_use]
    pub fn named(name: impl AsRef<str>) -> Self {
        Self { name: name.as_ref().to_owned(), ..Self::default() }
    }
}

named_draft! {
    /// A user.
    UserDraft {
        /// `certificate` (default) or `token`, in any case.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// A certificate signing request (PEM) that the user made; then we never hold a private key.
        #[serde(skip_serializing_if = "Option::is_none")]
        csr: Option<String>,
        /// The private key that is made for a certificate user: `ecdsa-p256` (default), `rsa-2048`, `rsa-3072` or `rsa-4096`.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// How long a credential is to live, in seconds, 600 and up. Default: the cluster's own.
        #[serde(skip_serializing_if = "Option::is_none")]
        lifetime_seconds: Option<i64>,
    }
}

impl fmt::Debug for UserDraft {
    /// The lengths of request and key alone: somebody may have pasted the private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, description, user_data1, user_data2, kind, csr, key, lifetime_seconds } = self;
        f.debug_struct("UserDraft")
            .field("name", name)
            .field("description", description)
            .field("user_data1", user_data1)
            .field("user_data2", user_data2)
            .field("kind", kind)
            .field("csr_bytes", &csr.as_ref().map(String::len))
            .field("key_bytes", &key.as_ref().map(String::len))
            .field("lifetime_seconds", lifetime_seconds)
            .finish()
    }
}

named_draft! {
    /// A permission.
    #[derive(Debug)]
    PermissionDraft {
        /// The users that it holds for. Default: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        users: Option<Vec<String>>,
        /// Another namespace that it holds in; privileged clouds only. Default: the cloud's.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        /// True when it holds in the whole cluster; privileged clouds only.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cluster_wide: bool,
        /// API groups; the empty text is the core group, `*` all.
        api_groups: Vec<String>,
        /// Resources in the plural, such as `pods` or `pods/log`; `*` for all.
        resources: Vec<String>,
        /// Names of single objects. Default: all.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        resource_names: Vec<String>,
        /// Verbs, such as `get`; `*` for all.
        verbs: Vec<String>,
        /// Not supported: paths of the API server belong to no namespace.
        #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
        non_resource_urls: Vec<String>,
    }
}

named_draft! {
    /// A quota.
    #[derive(Debug)]
    QuotaDraft {
        /// ResourceQuota keys with their quantities, as texts or numbers.
        hard: BTreeMap<String, Value>,
    }
}

named_draft! {
    /// A set of key-value pairs.
    #[derive(Debug)]
    KeyValuesDraft {
        /// The pairs, in order.
        kv: Pairs,
    }
}

/// A selector of clusters by their labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SelectorDraft {
    /// Labels that a selected cluster has, with these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further terms, all of which hold for a selected cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<ExpressionDraft>,
}

/// A term of a cluster selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExpressionDraft {
    /// A label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The label's values; for `In` and `NotIn` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

named_draft! {
    /// A cluster reference.
    #[derive(Debug)]
    ReferenceDraft {
        /// The cluster provider's name.
        provider: String,
        /// The cluster's name there.
        cluster: String,
        /// IPv4 or IPv6 address of the mesh's load balancer; absent, empty or unspecified (`0.0.0.0`) when not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        load_balancer: Option<String>,
    }
}
