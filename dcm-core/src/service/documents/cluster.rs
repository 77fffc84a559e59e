//! The document of a registered cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::{ClusterId, Namespace};
use crate::secret::Secret;
use crate::service::caller::Change;

use super::Schema;

/// A registered cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct ClusterDocument {
    pub schema: Schema,
    pub id: ClusterId,
    pub kubeconfig: Secret,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    pub created: Change,
    pub changed: Change,
}
