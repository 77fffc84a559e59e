//! Key-value pairs, of logical clouds and of clusters.

use dcm_core::logical_cloud::{self, KeyValuesDraft, LogicalCloud, Pairs};
use dcm_core::name::KeyValuesName;
use dcm_core::service::{Kind, PartDraft, PartName};
use serde::{Deserialize, Serialize};

use super::Metadata;
use crate::emco::body::{Document, Shape};
use crate::emco::parts::Part;

/// Notes that are kept, in order, and never rendered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeyValues {
    pub(crate) metadata: Metadata,
    pub(crate) spec: KeyValuesSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeyValuesSpec {
    /// `null` when there is none.
    pub(crate) kv: Option<Pairs>,
}

impl Document for KeyValues {
    const SHAPE: Shape =
        Shape::Of(&[("metadata", Metadata::SHAPE), ("spec", Shape::Of(&[("kv", Shape::Any)]))]);

    /// EMCO's schema for those of logical clouds says nothing of names and notes.
    fn check(&self, _: &mut Vec<String>) {}
}

impl KeyValues {
    /// Adds the rules that it breaks as one of a cluster.
    pub(crate) fn check_of_cluster(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
        if self.spec.kv.is_none() {
            lines.push("Invalid type. Expected: array, given: null".to_owned());
        }
    }
}

impl From<KeyValues> for KeyValuesDraft {
    fn from(values: KeyValues) -> Self {
        let kv = values.spec.kv.unwrap_or_default();
        Self { kv, ..Self::with_metadata(values.metadata.into()) }
    }
}

impl From<logical_cloud::KeyValues> for KeyValues {
    fn from(values: logical_cloud::KeyValues) -> Self {
        let kv = Some(values.pairs).filter(|pairs| !pairs.is_empty());
        Self { metadata: Metadata::of(values.metadata), spec: KeyValuesSpec { kv } }
    }
}

impl Part for KeyValues {
    type Name = KeyValuesName;
    type Model = logical_cloud::KeyValues;
    const KIND: Kind = Kind::KeyValues;
    const SEGMENT: &'static str = "logicalCloudKv";

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn into_draft(self) -> PartDraft {
        PartDraft::KeyValues(self.into())
    }

    fn part_name(name: KeyValuesName) -> PartName {
        PartName::KeyValues(name)
    }

    fn all(cloud: &LogicalCloud) -> &[logical_cloud::KeyValues] {
        cloud.key_values()
    }

    fn of(values: &logical_cloud::KeyValues, _: &LogicalCloud) -> Self {
        values.clone().into()
    }
}
