//! Whether plans are still what they were.

use std::collections::BTreeMap;
use std::fmt;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::{Observed, Part, PlanHash};

use super::Planned;

/// What is not as in an earlier plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Something else is wanted, or of other clusters. What became of clusters can't be told then.
    pub wanted: bool,
    /// Clusters that are not as they were. Of many, some that are may be among them.
    pub clusters: Vec<(ContextId, ClusterId)>,
}

/// In words, one cluster after the other.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wanted {
            return f.write_str("something else is wanted than was planned, or of other clusters");
        }
        match &*self.clusters {
            [] => f.write_str("a cluster is not as it was"),
            [(_, first), others @ ..] => {
                write!(f, "{first} is not as it was")?;
                others.iter().try_for_each(|(_, cluster)| write!(f, ", {cluster} is not as it was"))
            }
        }
    }
}

/// What a plan of all of these is recognised by.
#[must_use]
pub fn hash<'a>(plans: impl IntoIterator<Item = &'a Planned>) -> PlanHash {
    with_parts(plans, PlanHash::of)
}

/// What is not as in an earlier plan of that hash; none where nothing is.
#[must_use]
pub fn difference<'a>(
    plans: impl IntoIterator<Item = &'a Planned>,
    earlier: &PlanHash,
) -> Option<Difference> {
    with_parts(plans, |parts| {
        let now = PlanHash::of(parts);
        (now != *earlier).then(|| {
            let changes = now.changes_since(earlier, parts);
            let clusters = changes.clusters.into_iter();
            let clusters = clusters.map(|(context, cluster)| (context.clone(), cluster.clone()));
            Difference { wanted: changes.wanted, clusters: clusters.collect() }
        })
    })
}

fn with_parts<'a, T>(
    plans: impl IntoIterator<Item = &'a Planned>,
    calculate: impl FnOnce(&[Part<'_>]) -> T,
) -> T {
    let observed: Vec<_> = plans.into_iter().map(|plan| (&plan.context, plan.observed())).collect();
    let parts: Vec<_> = observed.iter().map(|(context, clusters)| Part { context, clusters }).collect();
    calculate(&parts)
}

impl Planned {
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
