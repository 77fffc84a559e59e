//! Labels of clusters: a label is the key of one, whatever its value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metadata::check_name;
use crate::emco::body::{Document, Shape};

/// A label of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Label {
    pub(crate) cluster_label: String,
}

impl Document for Label {
    const SHAPE: Shape = Shape::Of(&[("clusterLabel", Shape::Any)]);

    fn check(&self, lines: &mut Vec<String>) {
        check_name(&self.cluster_label, lines);
    }
}

impl Label {
    /// Those of a cluster.
    pub(crate) fn all(labels: &BTreeMap<String, String>) -> Vec<Self> {
        labels.keys().map(|key| Self { cluster_label: key.clone() }).collect()
    }
}
