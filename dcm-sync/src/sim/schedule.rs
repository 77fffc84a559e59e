//! What a simulated server's controllers do later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::ObjectKey;
use jiff::{SignedDuration, Timestamp};

use super::object::later;

/// How often the cleaner of CertificateSigningRequests looks, counted from the server's start.
const CLEANING_INTERVAL: Duration = Duration::from_secs(3600);

/// Something that is due for an object; it is void when the object of this UID is gone by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Delete what is in a namespace that is being deleted.
    EmptyNamespace,
    /// Let a namespace go, when it is empty.
    FinishNamespace,
    /// Sign an approved request.
    Issue,
    /// Remove a request that is past its time.
    Clean,
}

/// A task and its object.
#[derive(Debug, Clone)]
pub(super) struct Due {
    pub(super) task: Task,
    pub(super) key: ObjectKey,
    pub(super) uid: Arc<str>,
}

/// Tasks by time; those of one time in the order in which they came.
#[derive(Debug)]
pub(super) struct Schedule {
    started: Timestamp,
    count: u64,
    due: BTreeMap<(Timestamp, u64), Due>,
}

impl Schedule {
    pub(super) fn new(started: Timestamp) -> Self {
        Self { started, count: 0, due: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, at: Timestamp, due: Due) {
        self.count += 1;
        self.due.insert((at, self.count), due);
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the first task that is due by now.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<(Timestamp, Due)> {
        let entry = self.due.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((at, _), due) = entry.remove_entry();
        Some((at, due))
    }

    /// The first time at which the cleaner looks after a deadline.
    pub(super) fn cleaning_after(&self, deadline: Timestamp) -> Timestamp {
        let elapsed = deadline.duration_since(self.started).max(SignedDuration::ZERO);
        let looks = elapsed.as_secs().unsigned_abs() / CLEANING_INTERVAL.as_secs() + 1;
        later(self.started, Duration::from_secs(looks * CLEANING_INTERVAL.as_secs()))
    }
}
