//! The parts of a logical cloud: one document each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash::ContentHash;
use crate::logical_cloud::{Draft, SpecDraft};
use crate::manifest::Manifest;
use crate::port::store;
use crate::service::caller::Change;

use super::{DocumentId, Schema, to_value};

/// Hexadecimal digits of the hash that names an extra manifest.
const MANIFEST_DIGITS: usize = 32;

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::service) enum PartKind {
    Cloud,
    Namespace,
    User,
    Permission,
    Quota,
    Reference,
    KeyValues,
    Manifest,
    ServiceMesh,
}

impl PartKind {
    /// The folder of all parts of this kind.
    pub(in crate::service) fn folder(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Namespace => "namespace",
            Self::User => "users",
            Self::Permission => "permissions",
            Self::Quota => "quotas",
            Self::Reference => "references",
            Self::KeyValues => "key-values",
            Self::Manifest => "manifests",
            Self::ServiceMesh => "service-mesh",
        }
    }
}

/// One part, as one edit left it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Part {
    pub schema: Schema,
    pub kind: PartKind,
    pub name: String,
    /// Who changed it last.
    pub changed: Change,
    /// The edit in which this name came into the cloud; a name that left and came back is another thing.
    pub since: u64,
    pub spec: Value,
}

/// The parts that a logical cloud has after one edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Contents {
    pub schema: Schema,
    pub parts: Vec<DocumentId>,
}

/// What a part is called: its kind and its name.
pub(in crate::service) type PartKey = (PartKind, String);

/// Takes a checked cloud's draft apart. What has no part of its own stays with the cloud.
pub(in crate::service) fn split(draft: Draft) -> Result<BTreeMap<PartKey, Value>, store::Error> {
    let Draft { metadata, mut spec } = draft;
    let mut parts = Parts { parts: BTreeMap::new() };
    parts.add(PartKind::User, std::mem::take(&mut spec.users), |user| user.name.clone())?;
    parts.add(PartKind::Permission, std::mem::take(&mut spec.permissions), |one| one.name.clone())?;
    parts.add(PartKind::Quota, std::mem::take(&mut spec.quotas), |quota| quota.name.clone())?;
    parts.add(PartKind::Reference, std::mem::take(&mut spec.clusters), |one| one.name.clone())?;
    for values in std::mem::take(&mut spec.key_values) {
        parts.parts.insert((PartKind::KeyValues, values.name.clone()), values.to_value());
    }
    parts.add(PartKind::Manifest, std::mem::take(&mut spec.manifests), manifest_name)?;
    let mesh = spec.service_mesh.take();
    parts.add(PartKind::ServiceMesh, mesh.into_iter().collect(), |_| metadata.name.clone())?;
    let namespace = SpecDraft {
        namespace: spec.namespace.take(),
        labels: std::mem::take(&mut spec.labels),
        ..SpecDraft::default()
    };
    parts.add(PartKind::Namespace, vec![namespace], |_| metadata.name.clone())?;
    let name = metadata.name.clone();
    parts.add(PartKind::Cloud, vec![Draft { metadata, spec }], |_| name.clone())?;
    Ok(parts.parts)
}

struct Parts {
    parts: BTreeMap<PartKey, Value>,
}

impl Parts {
    fn add<T: Serialize>(
        &mut self,
        kind: PartKind,
        items: Vec<T>,
        name: impl Fn(&T) -> String,
    ) -> Result<(), store::Error> {
        for item in items {
            self.parts.insert((kind, name(&item)), to_value(&item)?);
        }
        Ok(())
    }
}

/// A checked manifest is named by its key, which may hold what a path can't.
fn manifest_name(body: &Value) -> String {
    let key = Manifest::new(body.clone()).map(|manifest| manifest.key().to_string());
    ContentHash::of_bytes(key.unwrap_or_default().as_bytes()).short(MANIFEST_DIGITS)
}

/// Puts parts together again.
pub(in crate::service) fn join(
    parts: impl IntoIterator<Item = (PartKind, Value)>,
) -> Result<Draft, serde_json::Error> {
    let mut whole = Draft::default();
    let mut lists = SpecDraft::default();
    for (kind, spec) in parts {
        match kind {
            PartKind::Cloud => whole = serde_json::from_value(spec)?,
            PartKind::Namespace => {
                let given: SpecDraft = serde_json::from_value(spec)?;
                lists.namespace = given.namespace;
                lists.labels = given.labels;
            }
            PartKind::User => lists.users.push(serde_json::from_value(spec)?),
            PartKind::Permission => lists.permissions.push(serde_json::from_value(spec)?),
            PartKind::Quota => lists.quotas.push(serde_json::from_value(spec)?),
            PartKind::Reference => lists.clusters.push(serde_json::from_value(spec)?),
            PartKind::KeyValues => lists.key_values.push(serde_json::from_value(spec)?),
            PartKind::Manifest => lists.manifests.push(spec),
            PartKind::ServiceMesh => lists.service_mesh = Some(serde_json::from_value(spec)?),
        }
    }
    whole.spec = SpecDraft {
        namespace: lists.namespace,
        labels: lists.labels,
        users: lists.users,
        permissions: lists.permissions,
        quotas: lists.quotas,
        clusters: lists.clusters,
        key_values: lists.key_values,
        manifests: lists.manifests,
        service_mesh: lists.service_mesh,
        ..whole.spec
    };
    Ok(whole)
}
