//! Records of controllers.

use dcm_core::controller::{ControllerDraft, ControllerRecord};
use serde::{Deserialize, Serialize};

use super::Metadata;
use crate::emco::body::{Document, Shape};

/// The record of a controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Controller {
    pub(crate) metadata: Metadata,
    pub(crate) spec: ControllerSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ControllerSpec {
    host: String,
    port: i64,
    /// None where controllers have no types.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    priority: i64,
}

impl Document for Controller {
    const SHAPE: Shape = Shape::Of(&[
        ("metadata", Metadata::SHAPE),
        (
            "spec",
            Shape::Of(&[
                ("host", Shape::Any),
                ("port", Shape::Any),
                ("type", Shape::Any),
                ("priority", Shape::Any),
            ]),
        ),
    ]);

    fn check(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
    }
}

impl From<Controller> for ControllerDraft {
    fn from(controller: Controller) -> Self {
        let ControllerSpec { host, port, kind, priority } = controller.spec;
        Self { metadata: controller.metadata.into(), host, port, kind: kind.unwrap_or_default(), priority }
    }
}

impl From<ControllerRecord> for Controller {
    fn from(record: ControllerRecord) -> Self {
        let spec = ControllerSpec {
            host: record.spec.host,
            port: record.spec.port.into(),
            kind: Some(record.spec.kind.map_or("", |kind| kind.as_str()).to_owned()),
            priority: record.spec.priority.into(),
        };
        Self { metadata: Metadata::of(record.metadata), spec }
    }
}
