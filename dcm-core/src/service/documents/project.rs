//! The document of a project.

use serde::{Deserialize, Serialize};

use crate::logical_cloud::MetadataDraft;
use crate::service::caller::Change;

use super::Schema;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct ProjectDocument {
    pub schema: Schema,
    pub metadata: MetadataDraft,
    pub created: Change,
    pub changed: Change,
    /// Set while it is looked whether it is empty: nobody makes a logical cloud in it meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
}
