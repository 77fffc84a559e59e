//! A kubeconfig as it is written: the members of `clientcmd/api/v1` that users' files need, in kubectl's order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::plugin::Exec;
use crate::secret::Secret;

/// The name of the entry in `extensions` that marks what [`merge`](super::merge()) wrote into a person's file.
pub const MARK_NAME: &str = "dcm.internal";

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Config {
    #[serde(rename = "apiVersion")]
    pub(super) api_version: &'static str,
    pub(super) clusters: Vec<NamedCluster>,
    pub(super) contexts: Vec<NamedContext>,
    pub(super) current_context: String,
    pub(super) kind: &'static str,
    pub(super) preferences: Preferences,
    pub(super) users: Vec<NamedUser>,
}

/// Always empty; written because kubectl writes it, too.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Preferences {}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct NamedCluster {
    pub(super) cluster: Cluster,
    pub(super) name: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Cluster {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) certificate_authority_data: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extensions: Vec<Extension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proxy_url: Option<String>,
    pub(super) server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls_server_name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct NamedContext {
    pub(super) context: Context,
    pub(super) name: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Context {
    pub(super) cluster: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extensions: Vec<Extension>,
    pub(super) namespace: String,
    pub(super) user: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct NamedUser {
    pub(super) name: String,
    pub(super) user: User,
}

#[derive(Default, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "kebab-case")]
pub(super) struct User {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_certificate_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_clear")]
    #[schemars(with = "Option<String>")]
    pub(super) client_key_data: Option<Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exec: Option<Exec>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extensions: Vec<Extension>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_clear")]
    #[schemars(with = "Option<String>")]
    pub(super) token: Option<Secret>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Extension {
    pub(super) extension: Mark,
    pub(super) name: &'static str,
}

/// What marks an entry as ours.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Mark {
    pub(super) project: String,
    pub(super) logical_cloud: String,
    pub(super) reference: String,
    /// None for a cluster entry: the cloud's users share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    /// True for a user entry that was written without a key, because the user has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_own_key: bool,
}

/// Here the text itself is wanted, not the marked form in which secrets are stored.
pub(super) fn in_clear<S: Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(serializer)
}
