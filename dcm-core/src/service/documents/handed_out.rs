//! What was handed out to a user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::{ReferenceName, UserName};
use crate::service::caller::Change;

use super::Schema;

/// Where the clusters were, by the kubeconfigs that a user was given last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct HandedOut {
    pub schema: Schema,
    pub user: UserName,
    /// For each cluster a digest of its address and authorities.
    pub clusters: BTreeMap<ReferenceName, String>,
    pub changed: Change,
}
