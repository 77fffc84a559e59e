//! What an apply is bound to that is to do what was planned, and nothing else.

use std::collections::BTreeMap;

use super::digest::Observed;
use crate::app_context::{AppContext, Bundle, Generation};
use crate::hash::ContentHash;
use crate::name::ClusterId;

/// What was planned, as far as whoever does it can tell whether it is still so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    generation: Generation,
    wanted: BTreeMap<ClusterId, ContentHash>,
    observed: BTreeMap<ClusterId, ContentHash>,
}

impl Binding {
    /// What was planned for an app context: as which of its generations, and on clusters in which state. A cluster that was not
    /// observed is bound to nothing.
    #[must_use]
    pub fn new<'a>(
        context: &AppContext,
        generation: Generation,
        observed: impl IntoIterator<Item = (&'a ClusterId, &'a Observed)>,
    ) -> Self {
        let observed = observed.into_iter().map(|(cluster, observed)| (cluster.clone(), observed.hash()));
        Self { generation, wanted: wanted(context), observed: observed.collect() }
    }

    /// True when this is what was planned.
    #[must_use]
    pub fn allows(&self, context: &AppContext, generation: Generation) -> bool {
        self.generation == generation && self.wanted == wanted(context)
    }

    /// By cluster, the hash of what was observed ([`Observed::hash`]).
    #[must_use]
    pub fn observed(&self) -> &BTreeMap<ClusterId, ContentHash> {
        &self.observed
    }
}

fn wanted(context: &AppContext) -> BTreeMap<ClusterId, ContentHash> {
    let placements = context.placements.iter();
    placements.map(|(cluster, bundle)| (cluster.clone(), Bundle::hash_as_planned(bundle))).collect()
}
