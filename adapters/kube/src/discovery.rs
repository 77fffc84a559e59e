//! Which resource serves a kind, asked once per group and version.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Call, Error};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::resource::{Resource, group_path, group_version_path};
use crate::transport::{Request, Transport};

/// What a group and version serves, by kind.
type Served = Arc<BTreeMap<String, Resource>>;

/// One group and version. It is locked while it is asked for, so that a burst of requests asks once.
type Slot = Arc<Mutex<Option<Served>>>;

type GroupVersion = (Arc<str>, Arc<str>);

/// What is known of a cluster's kinds. It lives as long as the connection.
#[derive(Default)]
pub(crate) struct Discovery {
    slots: Mutex<BTreeMap<GroupVersion, Slot>>,
}

impl Discovery {
    /// The resource of a kind. A kind that is not known is looked for once more: its definition may be new.
    pub(crate) async fn resource(
        &self,
        transport: &Transport,
        call: &Call,
        kind: &GroupVersionKind,
    ) -> Result<Resource, Error> {
        if let Some(resource) = Resource::built_in(kind) {
            return Ok(resource);
        }
        let slot = self.slot(kind).await;
        let known = slot.lock().await.clone();
        let find = |served: &Served| served.get(&*kind.kind).cloned();
        if let Some(resource) = known.as_ref().and_then(find) {
            return Ok(resource);
        }
        let mut newest = slot.lock().await;
        // Another request may have asked while this one waited.
        let asked_meanwhile = match (&*newest, &known) {
            (Some(newest), Some(known)) => !Arc::ptr_eq(newest, known),
            (newest, _) => newest.is_some(),
        };
        if !asked_meanwhile {
            *newest = Some(fetch(transport, call, kind).await?);
        }
        newest.as_ref().and_then(find).ok_or_else(|| Error::UnknownKind { kind: kind.clone() })
    }

    /// The same where objects are only read or deleted: what another version of the group serves will do. Objects stay when the version
    /// goes in which they were made.
    pub(crate) async fn resource_in_any_version(
        &self,
        transport: &Transport,
        call: &Call,
        kind: &GroupVersionKind,
    ) -> Result<Resource, Error> {
        let unknown = match self.resource(transport, call, kind).await {
            Err(error @ Error::UnknownKind { .. }) if !kind.group.is_empty() => error,
            found => return found,
        };
        for version in versions(transport, call, kind).await? {
            let other = GroupVersionKind::of_parts(kind.group.clone(), version.into(), kind.kind.clone());
            match self.resource(transport, call, &other).await {
                Err(Error::UnknownKind { .. }) => {}
                found => return found,
            }
        }
        Err(unknown)
    }

    /// Forgets what is known of a kind's group and version: the cluster no longer serves it.
    pub(crate) async fn forget(&self, kind: &GroupVersionKind) {
        *self.slot(kind).await.lock().await = None;
    }

    async fn slot(&self, kind: &GroupVersionKind) -> Slot {
        let mut slots = self.slots.lock().await;
        slots.entry((kind.group.clone(), kind.version.clone())).or_default().clone()
    }
}

async fn fetch(transport: &Transport, call: &Call, kind: &GroupVersionKind) -> Result<Served, Error> {
    let request = Request::get(group_version_path(&kind.group, &kind.version));
    let answer = transport.send(call, request).await.map_err(|failure| failure.about(kind))?;
    Ok(Arc::new(served(kind, answer.read().await?)))
}

/// The other versions in which a kind's group is served, the preferred one first.
async fn versions(transport: &Transport, call: &Call, kind: &GroupVersionKind) -> Result<Vec<String>, Error> {
    let answer = match transport.send(call, Request::get(group_path(&kind.group))).await {
        Ok(answer) => answer,
        Err(failure) => {
            return match failure.about(kind) {
                // No version is.
                Error::UnknownKind { .. } => Ok(Vec::new()),
                error => Err(error),
            };
        }
    };
    let group: APIGroup = answer.read().await?;
    let versions = group.versions.into_iter().map(|served| served.version);
    Ok(versions.filter(|version| **version != *kind.version).collect())
}

/// The part of an `APIResourceList` that matters here.
#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<ListedResource>,
}

#[derive(Deserialize)]
struct ListedResource {
    name: String,
    kind: String,
    namespaced: bool,
}

fn served(kind: &GroupVersionKind, list: ResourceList) -> BTreeMap<String, Resource> {
    let mut served = BTreeMap::new();
    for listed in list.resources {
        // A name with a slash is a subresource.
        if !listed.name.contains('/') {
            served.entry(listed.kind).or_insert(Resource {
                group: kind.group.clone(),
                version: kind.version.clone(),
                plural: listed.name.into(),
                namespaced: listed.namespaced,
            });
        }
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subresources_are_no_resources() {
        let list = json!({"kind": "APIResourceList", "groupVersion": "a/v1", "resources": [
            {"name": "widgets/status", "kind": "Widget", "namespaced": true, "singularName": "", "verbs": ["get"]},
            {"name": "widgets", "kind": "Widget", "namespaced": true, "singularName": "widget", "verbs": ["get"]},
            {"name": "worlds", "kind": "World", "namespaced": false, "singularName": "world", "verbs": ["get"]},
        ]});
        let served =
            served(&GroupVersionKind::new("a", "v1", "Widget"), serde_json::from_value(list).unwrap());
        assert_eq!(served.len(), 2);
        assert_eq!(&*served["Widget"].plural, "widgets");
        assert!(served["Widget"].namespaced);
        assert!(!served["World"].namespaced);
    }
}
