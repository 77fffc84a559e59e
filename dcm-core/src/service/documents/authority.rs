//! The document of a certificate authority of a logical cloud.

use serde::{Deserialize, Serialize};

use crate::authority::{Authority, AuthorityFacts};
use crate::name::ClusterId;
use crate::port::key_source::KeyType;
use crate::service::caller::Change;

use super::Schema;

/// The root authority of a logical cloud, or its intermediate authority for one cluster. The key is secret; all else is in clear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct AuthorityDocument {
    pub schema: Schema,
    /// The cluster; none for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// The type of key that was asked for.
    pub key_type: KeyType,
    /// Fingerprint, serial number and validity, for those who read the store without its keys.
    pub facts: AuthorityFacts,
    pub authority: Authority,
    pub changed: Change,
}
