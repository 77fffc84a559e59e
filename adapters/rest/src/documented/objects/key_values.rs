//! Key-value pairs.

use axum::http::StatusCode;
use dcm_core::logical_cloud::{KeyValues, KeyValuesDraft, LogicalCloud, Pairs};
use dcm_core::name::KeyValuesName;
use dcm_core::service::{Kind, PartDraft, PartName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{METADATA, Object, Part};
use crate::documented::body::schema_of;
use crate::documented::openapi::Rules;
use crate::documented::problem::Problem;

/// Notes that are kept, in order, and never rendered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "KeyValuePairs", inline)]
pub(crate) struct KeyValuesSpec {
    /// The pairs.
    pub(crate) kv: Pairs,
}

impl Part for KeyValuesSpec {
    schema_of!(Object<KeyValuesSpec>);

    type Name = KeyValuesName;
    type Model = KeyValues;
    const KIND: Kind = Kind::KeyValues;
    const ONE: &'static str = "key-value pairs";
    const MANY: &'static str = "sets of key-value pairs";
    const RULES: Rules = &[
        METADATA,
        ("/properties/spec/properties/kv", "/properties/spec/properties/keyValues/items/properties/kv"),
    ];
    const REPLACED: StatusCode = StatusCode::CREATED;

    fn into_draft(Object { metadata, spec }: Object<Self>) -> Result<PartDraft, Problem> {
        Ok(PartDraft::KeyValues(KeyValuesDraft { kv: spec.kv, ..KeyValuesDraft::with_metadata(metadata) }))
    }

    fn part_name(name: KeyValuesName) -> PartName {
        PartName::KeyValues(name)
    }

    fn all(cloud: &LogicalCloud) -> &[KeyValues] {
        cloud.key_values()
    }

    fn object(values: &KeyValues) -> Object<Self> {
        let draft = KeyValuesDraft::from(values.clone());
        Object { metadata: draft.metadata(), spec: Self { kv: draft.kv } }
    }
}
