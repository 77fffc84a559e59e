//! The document of a registered cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::hash::ContentHash;
use crate::kubeconfig::{Admin, UserEndpoint};
use crate::logical_cloud::{KeyValues, Notes};
use crate::name::{ClusterId, Namespace};
use crate::secret::Secret;
use crate::service::caller::Change;
use crate::service::precondition::Revision;

use super::Schema;

/// A registered cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct ClusterDocument {
    pub schema: Schema,
    pub id: ClusterId,
    pub kubeconfig: Secret,
    /// The endpoint at which the cluster's identity was accepted; none in a registration that no version has written since it keeps
    /// this: that of its kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_endpoint: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_endpoint: Option<UserEndpoint>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_values: Vec<KeyValues>,
    pub created: Change,
    pub changed: Change,
}

impl ClusterDocument {
    /// The endpoint at which the cluster's identity was accepted.
    pub(in crate::service) fn accepted(&self) -> ContentHash {
        self.accepted_endpoint.unwrap_or_else(|| endpoint(&self.kubeconfig))
    }

    /// True while the kubeconfig leads to another endpoint than the accepted one.
    pub(in crate::service) fn is_moved(&self) -> bool {
        self.accepted() != endpoint(&self.kubeconfig)
    }

    /// Names what was registered last. Not the kubeconfig itself, of which a hash would tell something: who has replaced it tells
    /// as much.
    pub(in crate::service) fn revision(&self) -> Revision {
        let Self { id, user_endpoint, labels, namespace, notes, key_values, created, changed, .. } = self;
        Revision::of(&json!([id, user_endpoint, labels, namespace, notes, key_values, created, changed]))
    }
}

/// The endpoint that a kubeconfig leads to. All that can't be read have the same one.
pub(in crate::service) fn endpoint(kubeconfig: &Secret) -> ContentHash {
    Admin::read(kubeconfig).map_or_else(|_| ContentHash::of(&Value::Null), |admin| admin.endpoint())
}
