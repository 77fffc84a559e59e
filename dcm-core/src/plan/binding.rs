//! What an apply is bound to that is to do what was planned, and nothing else.

use std::collections::BTreeMap;

use serde_json::json;

use super::digest::Observed;
use crate::app_context::{AppContext, Generation};
use crate::hash::ContentHash;
use crate::name::ClusterId;

/// What was planned, as far as whoever does it can tell whether it is still so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    generation: Generation,
    wanted: ContentHash,
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

/// The hash of all that is wanted, but for what certificates are asked for with.
fn wanted(context: &AppContext) -> ContentHash {
    // Thousands of clusters share a few bundles.
    let mut hashes = BTreeMap::new();
    let placements = context.placements.iter().map(|(cluster, bundle)| {
        let hash = *hashes.entry(bundle.hash()).or_insert_with(|| bundle.hash_as_planned());
        (cluster.to_string(), hash)
    });
    let placements: BTreeMap<String, ContentHash> = placements.collect();
    let (id, labels, removal) = (&context.id, &context.labels, &context.removal);
    ContentHash::of(&json!({"id": id, "labels": labels, "removal": removal, "placements": placements}))
}
