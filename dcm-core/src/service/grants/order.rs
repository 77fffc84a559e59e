//! Where the parts of a draft are, for the paths of refusals: a checked cloud has them in another order.

use std::collections::BTreeMap;

use crate::logical_cloud::Draft;
use crate::manifest::{ObjectKey, kind_of};
use crate::name::{ClusterId, PermissionName};
use crate::refusal::Path;

use super::super::caller::Caller;
use super::super::resolve::{Positions, positions};

/// The places of permissions, extra manifests and cluster references in a draft's lists.
#[derive(Debug, Default)]
pub(in crate::service) struct Order {
    permissions: BTreeMap<String, usize>,
    /// By group, kind and name: all are in the cloud's namespace.
    manifests: BTreeMap<(String, String, String), usize>,
    references: Positions,
}

impl Order {
    /// The order of a draft; empty for a caller without limits, who is refused nothing.
    pub(in crate::service) fn of(caller: &Caller, draft: &Draft) -> Self {
        if caller.limits().is_none() {
            return Self::default();
        }
        let permissions = draft.spec.permissions.iter().enumerate();
        let manifests = draft.spec.manifests.iter().enumerate();
        Self {
            permissions: permissions.map(|(index, permission)| (permission.name.clone(), index)).collect(),
            manifests: manifests
                .filter_map(|(index, body)| {
                    let kind = kind_of(body).ok()?;
                    let name = body["metadata"]["name"].as_str()?.to_owned();
                    Some(((kind.group.to_string(), kind.kind.to_string(), name), index))
                })
                .collect(),
            references: positions(draft),
        }
    }

    /// The path of a permission.
    pub(super) fn permission(&self, name: &PermissionName) -> Path {
        item("permissions", self.permissions.get(name.as_str()))
    }

    /// The path of an extra manifest.
    pub(super) fn manifest(&self, key: &ObjectKey) -> Path {
        let key = (key.group.to_string(), key.kind.to_string(), key.name.to_string());
        item("manifests", self.manifests.get(&key))
    }

    /// The path of a cluster reference.
    pub(super) fn reference(&self, cluster: &ClusterId) -> Path {
        item("clusters", self.references.get(cluster))
    }
}

fn item(list: &str, index: Option<&usize>) -> Path {
    let list = Path::root().field("spec").field(list);
    index.map_or(list.clone(), |index| list.item(*index))
}
