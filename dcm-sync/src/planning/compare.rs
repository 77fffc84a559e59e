//! Whether plans are still what they were.

use std::collections::BTreeMap;

use dcm_core::name::ClusterId;
use dcm_core::plan::{Changes, Observed, Part, PlanHash};

use super::Planned;

impl Planned {
    /// What it is recognised by.
    #[must_use]
    pub fn hash(&self) -> PlanHash {
        PlanHash::of(Part { context: &self.context, clusters: &self.observed() })
    }

    /// What is not as in an earlier plan of this hash; none where nothing is.
    #[must_use]
    pub fn changes_since(&self, earlier: &PlanHash) -> Option<Changes<'_>> {
        let now = self.hash();
        (now != *earlier).then(|| now.changes_since(earlier, [self.clusters.keys()]))
    }

    /// What was seen of each cluster; none of one that could not be looked at.
    pub(crate) fn observed(&self) -> BTreeMap<ClusterId, Option<Observed>> {
        let looked = self.clusters.iter();
        looked
            .map(|(cluster, found)| (cluster.clone(), found.as_ref().ok().map(|live| live.observed.clone())))
            .collect()
    }

    /// True when the same clusters are as they were, as far as that is to be told of an app context that had no identity then.
    #[must_use]
    pub fn is_agreed_by(&self, now: &Self) -> bool {
        let (planned, found) = (self.observed(), now.observed());
        let agrees = |cluster: &ClusterId, planned: &Option<Observed>| match (planned, found.get(cluster)) {
            (Some(planned), Some(Some(found))) => planned.agrees_with(found),
            (None, Some(None)) => true,
            _ => false,
        };
        planned.len() == found.len() && planned.iter().all(|(cluster, seen)| agrees(cluster, seen))
    }
}
