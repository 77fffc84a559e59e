//! A document as it is written: the cloud's draft with `apiVersion`, `kind` and the project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::logical_cloud::{Draft, LogicalCloud, MetadataDraft, SpecDraft};

use super::{API_VERSION, KIND};

/// A logical cloud: a tenant's slice of a set of Kubernetes clusters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "LogicalCloud")]
pub(super) struct Written {
    /// Version of this form.
    api_version: String,
    /// What the document is.
    kind: String,
    /// What the cloud is called and what people wrote about it.
    pub(super) metadata: WrittenMetadata,
    /// What the cloud is.
    pub(super) spec: SpecDraft,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WrittenMetadata {
    /// Its name, unique in the project.
    name: String,
    /// The project that owns it. Default: the one that the reader is told, `default` on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
    /// What it is for, at most 1024 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    /// A note, at most 512 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    user_data1: String,
    /// A note, at most 512 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    user_data2: String,
}

impl From<Written> for Draft {
    fn from(written: Written) -> Self {
        let WrittenMetadata { name, description, user_data1, user_data2, .. } = written.metadata;
        Self { metadata: MetadataDraft { name, description, user_data1, user_data2 }, spec: written.spec }
    }
}

impl From<&LogicalCloud> for Written {
    fn from(cloud: &LogicalCloud) -> Self {
        let Draft { metadata, spec } = cloud.to_draft();
        let MetadataDraft { name, description, user_data1, user_data2 } = metadata;
        let project = Some(cloud.project().to_string());
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: WrittenMetadata { name, project, description, user_data1, user_data2 },
            spec,
        }
    }
}
