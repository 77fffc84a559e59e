//! The document of a user's credential.

use serde::{Deserialize, Serialize};

use crate::logical_cloud::RequestPem;
use crate::name::UserName;
use crate::secret::Secret;
use crate::service::caller::Change;

use super::{CredentialId, Schema};

/// A user's last credential. It stays when the user goes, without its key: an epoch is never used twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct CredentialDocument {
    pub schema: Schema,
    pub user: UserName,
    pub id: CredentialId,
    /// The edit in which its user came into the cloud.
    pub since: u64,
    /// The incarnation of the cloud that it was made in.
    pub incarnation: u64,
    /// The lifetime that is asked for, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<i32>,
    pub material: Material,
    pub changed: Change,
}

/// What a credential is made of, on our side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::service) enum Material {
    /// A request for certificates, and its key.
    Certificate {
        /// The request.
        request: RequestPem,
        /// The private key, PEM; none when the user keeps it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Secret>,
    },
    /// A token; all of it comes from the cluster.
    Token,
    /// The user is gone, and the key is forgotten.
    Retired,
}
