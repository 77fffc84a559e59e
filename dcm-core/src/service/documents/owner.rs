//! The document of a project or a cluster provider.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::logical_cloud::MetadataDraft;
use crate::service::caller::Change;
use crate::service::precondition::Revision;

use super::Schema;

/// Something that has a name and notes, and owns others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct OwnerDocument {
    pub schema: Schema,
    pub metadata: MetadataDraft,
    pub created: Change,
    pub changed: Change,
    /// Set while it is looked whether it is empty: nobody makes anything in it meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
}

impl OwnerDocument {
    /// Names what people wrote about it last.
    pub(in crate::service) fn revision(&self) -> Revision {
        Revision::of(&json!([self.metadata, self.created, self.changed]))
    }
}
