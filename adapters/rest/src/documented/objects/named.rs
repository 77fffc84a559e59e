//! What has a name and notes, and nothing else: projects and cluster providers.

use dcm_core::logical_cloud::MetadataDraft;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documented::body::{Shaped, schema_of};

/// A project or a cluster provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedBody {
    /// Name and notes.
    #[serde(default)]
    pub(crate) metadata: MetadataDraft,
}

impl Shaped for NamedBody {
    schema_of!(NamedBody);
}
