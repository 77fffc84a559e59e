//! Projects.

use dcm_core::logical_cloud::MetadataDraft;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documented::body::{Shaped, schema_of};

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectBody {
    /// Name and notes.
    #[serde(default)]
    pub(crate) metadata: MetadataDraft,
}

impl Shaped for ProjectBody {
    schema_of!(ProjectBody);
}
