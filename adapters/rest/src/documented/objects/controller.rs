//! Records of controllers.

use dcm_core::controller::{ControllerDraft, ControllerRecord, ControllerType};
use dcm_core::logical_cloud::MetadataDraft;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::METADATA;
use crate::documented::body::{Shaped, schema_of};
use crate::documented::openapi::Rules;

/// The record of a controller. Nobody is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Controller")]
pub(crate) struct ControllerBody {
    /// Name and notes.
    #[serde(default)]
    pub(crate) metadata: MetadataDraft,
    /// Where it is, and when it is called.
    spec: ControllerSpec,
}

/// Where a controller is, and when it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ControllerSpec {
    /// The host that it listens on.
    host: String,
    /// The port.
    #[schemars(range(min = 0, max = 65535))]
    port: i64,
    /// `placement` or `action`; absent for one that is only called by its name.
    #[schemars(extend("enum" = ["placement", "action"]))]
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    kind: String,
    /// In which order those of one type are called: the lowest first, from 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    #[serde(default)]
    priority: i64,
}

impl Shaped for ControllerBody {
    const RULES: Rules = &[METADATA];

    schema_of!(ControllerBody);
}

impl From<ControllerBody> for ControllerDraft {
    fn from(ControllerBody { metadata, spec }: ControllerBody) -> Self {
        let ControllerSpec { host, port, kind, priority } = spec;
        Self { metadata, host, port, kind, priority }
    }
}

impl From<ControllerRecord> for ControllerBody {
    fn from(record: ControllerRecord) -> Self {
        let spec = ControllerSpec {
            host: record.spec.host,
            port: record.spec.port.into(),
            kind: record.spec.kind.map(ControllerType::as_str).unwrap_or_default().to_owned(),
            priority: record.spec.priority.into(),
        };
        Self { metadata: record.metadata.into(), spec }
    }
}
