//! What has a name and notes, and nothing else: projects and cluster providers.

use serde::{Deserialize, Serialize};

use super::Metadata;
use crate::emco::body::{Document, Shape};

/// A project or a cluster provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    pub(crate) metadata: Metadata,
}

impl Document for Named {
    const SHAPE: Shape = Shape::Of(&[("metadata", Metadata::SHAPE)]);

    fn check(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
    }
}
