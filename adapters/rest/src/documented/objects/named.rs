//! What has a name and notes, and nothing else: projects and cluster providers.

use dcm_core::logical_cloud::MetadataDraft;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::METADATA;
use crate::documented::body::{Shaped, schema_of};
use crate::documented::openapi::Rules;

/// A project or a cluster provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Owner")]
pub(crate) struct NamedBody {
    /// Name and notes.
    #[serde(default)]
    pub(crate) metadata: MetadataDraft,
}

impl Shaped for NamedBody {
    const RULES: Rules = &[METADATA];

    schema_of!(NamedBody);
}
