//! The document of a registered cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
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
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "as_values")]
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
        let key_values = values(key_values);
        Revision::of(&json!([id, user_endpoint, labels, namespace, notes, key_values, created, changed]))
    }
}

/// Stores take values, in which a number can't have more digits than a float; these keep them.
fn values(sets: &[KeyValues]) -> Vec<Value> {
    sets.iter().map(KeyValues::to_value).collect()
}

fn as_values<S: Serializer>(sets: &[KeyValues], serializer: S) -> Result<S::Ok, S::Error> {
    values(sets).serialize(serializer)
}

/// The endpoint that a kubeconfig leads to. All that can't be read have the same one.
pub(in crate::service) fn endpoint(kubeconfig: &Secret) -> ContentHash {
    Admin::read(kubeconfig).map_or_else(|_| ContentHash::of(&Value::Null), |admin| admin.endpoint())
}
