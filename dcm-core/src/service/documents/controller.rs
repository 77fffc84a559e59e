//! The document of a controller's record.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::controller::{ControllerGroup, ControllerSpec};
use crate::logical_cloud::MetadataDraft;
use crate::service::caller::Change;
use crate::service::precondition::Revision;

use super::Schema;

/// The record of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct ControllerDocument {
    pub schema: Schema,
    pub group: ControllerGroup,
    pub metadata: MetadataDraft,
    pub spec: ControllerSpec,
    pub created: Change,
    pub changed: Change,
}

impl ControllerDocument {
    /// Names what was recorded last.
    pub(in crate::service) fn revision(&self) -> Revision {
        let Self { group, metadata, spec, created, changed, .. } = self;
        Revision::of(&json!([group, metadata, spec, created, changed]))
    }
}
