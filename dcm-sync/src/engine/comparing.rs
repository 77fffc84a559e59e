//! Comparisons of objects with what is desired of them that take long: they are made on other threads, before the machine is given
//! the input that needs them.
//!
//! The time that a comparison takes grows with the object, which a tenant can make as large as an API server allows, and with its
//! `managedFields`, which it can write itself. In the engine's own loop all other tenants and clusters would wait for it.

use std::collections::BTreeMap;

use dcm_core::manifest::ObjectKey;
use dcm_core::plan::{Comparison, Desired};
use dcm_core::port::cluster::Object;

/// An object, and what is desired of it.
pub(super) struct Pair {
    pub(super) object: Object,
    pub(super) desired: Desired,
}

/// A comparison that was made.
struct Compared {
    pair: Pair,
    comparison: Comparison,
}

impl Compared {
    /// True when it is one of this object with this.
    fn is_of(&self, object: &Object, desired: &Desired) -> bool {
        let Pair { object: compared, desired: with } = &self.pair;
        (&compared.uid, &compared.resource_version) == (&object.uid, &object.resource_version)
            && compared.marks.is_some() == object.marks.is_some()
            && with.manifest.hash() == desired.manifest.hash()
            && with.labels == desired.labels
    }
}

/// Most rounds in which comparisons are made for one input. What is desired can change while they are made: then those are made again,
/// and in the end where they are looked up, so that a tenant that changes its cloud again and again does not hold up a list for all.
const ROUNDS_MAX: u32 = 4;

/// Comparisons that were made, to be looked up.
#[derive(Default)]
pub(super) struct Comparisons {
    made: BTreeMap<ObjectKey, Vec<Compared>>,
    rounds: u32,
}

impl Comparisons {
    /// These, and those of other pairs, which are made now. The time that it takes has no bound.
    #[must_use]
    pub(super) fn with(mut self, pairs: Vec<Pair>) -> Self {
        for pair in pairs {
            let comparison = pair.desired.compare(&pair.object);
            self.made.entry(pair.object.key.clone()).or_default().push(Compared { pair, comparison });
        }
        self.rounds += 1;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// True if no more are made for the same input.
    pub(super) fn is_final(&self) -> bool {
        self.rounds >= ROUNDS_MAX
    }

    /// True when this one was made.
    pub(super) fn has(&self, object: &Object, desired: &Desired) -> bool {
        self.get(object, desired).is_some()
    }

    /// How an object differs from what is desired of it; compared now where that was not done before.
    pub(super) fn look_up(&self, object: &Object, desired: &Desired) -> Comparison {
        let made = self.get(object, desired);
        made.map_or_else(|| desired.compare(object), |made| made.comparison.clone())
    }

    fn get(&self, object: &Object, desired: &Desired) -> Option<&Compared> {
        self.made.get(&object.key)?.iter().find(|made| made.is_of(object, desired))
    }
}
