//! Registered clusters. Their kubeconfigs are sent beside them, and never answered.

use dcm_core::logical_cloud::Notes;
use dcm_core::service::Registration;
use serde::{Deserialize, Serialize};

use super::{Label, Metadata};
use crate::emco::body::{Document, Shape};

/// A cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cluster {
    pub(crate) metadata: Metadata,
    spec: ClusterSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClusterSpec {
    git_ops: GitOps,
}

/// How a cluster is reached over a Git repository; nothing here, as none is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GitOps {
    git_ops_type: String,
    git_ops_reference_object: String,
    git_ops_resource_object: String,
}

/// What a list shows of a cluster that tells labels.
#[derive(Debug, Serialize)]
pub(crate) struct ClusterWithLabels {
    metadata: Metadata,
    labels: Vec<Label>,
}

impl Document for Cluster {
    const SHAPE: Shape = Shape::Of(&[
        ("metadata", Metadata::SHAPE),
        (
            "spec",
            Shape::Of(&[(
                "gitOps",
                Shape::Of(&[
                    ("gitOpsType", Shape::Any),
                    ("gitOpsReferenceObject", Shape::Any),
                    ("gitOpsResourceObject", Shape::Any),
                ]),
            )]),
        ),
    ]);

    fn check(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
        if self.spec.git_ops != GitOps::default() {
            lines.push("spec.gitOps: clusters are reached by their kubeconfigs, and not over Git".to_owned());
        }
    }
}

impl Cluster {
    /// What people wrote about it.
    pub(crate) fn notes(&self) -> Notes {
        let Metadata { description, user_data1, user_data2, .. } = self.metadata.clone();
        Notes { description, user_data1, user_data2 }
    }
}

impl From<Registration> for Cluster {
    fn from(registration: Registration) -> Self {
        Self { metadata: metadata(registration), spec: ClusterSpec::default() }
    }
}

impl From<Registration> for ClusterWithLabels {
    fn from(registration: Registration) -> Self {
        Self { labels: Label::all(&registration.labels), metadata: metadata(registration) }
    }
}

fn metadata(Registration { id, notes, .. }: Registration) -> Metadata {
    let Notes { description, user_data1, user_data2 } = notes;
    Metadata { name: id.cluster.to_string(), description, user_data1, user_data2 }
}
