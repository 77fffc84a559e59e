//! Quotas.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::{LogicalCloud, Quota, QuotaDraft};
use dcm_core::name::QuotaName;
use dcm_core::service::{Kind, PartDraft, PartName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{METADATA, Object, Part, field_of_part};
use crate::documented::body::schema_of;
use crate::documented::openapi::Rules;
use crate::documented::problem::Problem;

/// ResourceQuota keys with their quantities, as texts or numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Quota", inline)]
pub(crate) struct QuotaSpec(
    #[schemars(with = "BTreeMap<String, Quantity>")] pub(crate) BTreeMap<String, Value>,
);

/// How much of something, as Kubernetes writes it.
#[derive(JsonSchema)]
#[schemars(inline, extend("type" = ["string", "number"]))]
#[expect(dead_code, reason = "it is a schema, and nothing else")]
struct Quantity(String);

impl Part for QuotaSpec {
    // The model tells what is wrong with quantities, with all of them at once.
    schema_of!(Object<BTreeMap<String, Value>>);

    type Name = QuotaName;
    type Model = Quota;
    const KIND: Kind = Kind::Quota;
    const ONE: &'static str = "a quota";
    const MANY: &'static str = "quotas";
    const RULES: Rules =
        &[METADATA, ("/properties/spec", "/properties/spec/properties/quotas/items/properties/hard")];

    fn into_draft(Object { metadata, spec }: Object<Self>) -> Result<PartDraft, Problem> {
        Ok(PartDraft::Quota(QuotaDraft { hard: spec.0, ..QuotaDraft::with_metadata(metadata) }))
    }

    fn part_name(name: QuotaName) -> PartName {
        PartName::Quota(name)
    }

    fn all(cloud: &LogicalCloud) -> &[Quota] {
        cloud.quotas()
    }

    fn object(quota: &Quota) -> Object<Self> {
        let draft = QuotaDraft::from(quota.clone());
        Object { metadata: draft.metadata(), spec: Self(draft.hard) }
    }

    /// The keys are the specification itself.
    fn field(_: &Value, path: &str) -> String {
        match path.strip_prefix("hard") {
            Some(rest) => format!("spec{rest}"),
            None => field_of_part(path, |_| None),
        }
    }
}
