//! The use cases of logical clouds, as one value.

use std::sync::Arc;

use crate::port::clock::{Clock, Random};
use crate::port::key_source::KeySource;
use crate::port::store::Store;
use crate::port::synchronizer::Synchronizer;

use super::audited::Audit;
use super::caller::{Caller, Change};

/// The use cases of logical clouds. Cheap to clone.
///
/// Each is a method; see the [module's documentation](super) for what they promise together.
#[derive(Clone)]
pub struct LogicalClouds {
    pub(super) documents: Arc<dyn Store>,
    pub(super) synchronizer: Arc<dyn Synchronizer>,
    pub(super) keys: Arc<dyn KeySource>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) audit: Audit,
}

impl LogicalClouds {
    /// Logical clouds over a store of documents, which holds secrets. The synchronizer's own store may be the same one.
    /// Decisions are kept where [`LogicalClouds::audited_by`] says.
    #[must_use]
    pub fn new(
        documents: Arc<dyn Store>,
        synchronizer: Arc<dyn Synchronizer>,
        keys: Arc<dyn KeySource>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self { documents, synchronizer, keys, clock, random, audit: None }
    }

    /// A change that a caller makes now.
    pub(super) fn change(&self, caller: &Caller) -> Change {
        caller.change(self.clock.now())
    }
}
