//! Quotas.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::{self, LogicalCloud, QuotaDraft};
use dcm_core::name::{API_NAME_MAX, QuotaName};
use dcm_core::service::{Kind, PartDraft, PartName};
use serde::{Deserialize, Serialize};

use super::{Metadata, at_most, field_of_part};
use crate::emco::body::{Document, Shape};
use crate::emco::parts::Part;
use crate::emco::problem::Problem;

/// What a logical cloud may use on each cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Quota {
    metadata: Metadata,
    spec: BTreeMap<String, String>,
}

impl Document for Quota {
    const SHAPE: Shape = Shape::Of(&[("metadata", Metadata::SHAPE), ("spec", Shape::Any)]);

    fn check(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
        self.spec.values().for_each(|value| at_most(API_NAME_MAX, value, lines));
    }
}

impl Part for Quota {
    type Name = QuotaName;
    type Model = logical_cloud::Quota;
    const KIND: Kind = Kind::Quota;
    const SEGMENT: &'static str = "clusterQuota";
    const NEEDS_NAMESPACE: bool = true;

    /// EMCO looks first whether it is there.
    fn no_cloud() -> Problem {
        Problem::missing(Kind::LogicalCloud)
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn into_draft(self) -> PartDraft {
        let hard = self.spec.into_iter().map(|(key, value)| (key, value.into())).collect();
        PartDraft::Quota(QuotaDraft { hard, ..QuotaDraft::with_metadata(self.metadata.into()) })
    }

    fn part_name(name: QuotaName) -> PartName {
        PartName::Quota(name)
    }

    fn all(cloud: &LogicalCloud) -> &[logical_cloud::Quota] {
        cloud.quotas()
    }

    fn of(quota: &logical_cloud::Quota, _: &LogicalCloud) -> Self {
        let spec = quota.hard.iter().map(|(key, quantity)| (key.clone(), quantity.to_string())).collect();
        Self { metadata: Metadata::of(quota.metadata.clone()), spec }
    }

    /// The keys are the specification itself.
    fn field(path: &str) -> String {
        field_of_part(path, |field| if field == "hard" { "" } else { field })
    }
}
