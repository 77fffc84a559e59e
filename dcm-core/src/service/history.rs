//! What was decided about a logical cloud's clusters: each apply that brought an edit, each termination, each pause.

use serde::{Deserialize, Serialize};

use crate::logical_cloud::life_cycle::Work;

use super::caller::Change;
use super::documents::{Root, SnapshotReference};

/// How many decisions are remembered: they are in the cloud's root, which every change writes.
const HISTORY_MAX: usize = 32;

/// A decision about a logical cloud's clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Milestone {
    /// Counts on from 1. The oldest are forgotten.
    pub number: u64,
    /// What the clusters are or were brought to.
    pub work: Work,
    /// True when the work was paused; otherwise it began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Who decided it, and when.
    pub change: Change,
}

impl Root {
    /// Remembers that a snapshot was applied, when it brings another edit than the one before: a renewal is no decision about the
    /// cloud.
    pub(super) fn remember_apply(&mut self, before: Option<&SnapshotReference>, applied: &SnapshotReference) {
        let work = match before {
            Some(before) if before.contents == applied.contents => return,
            Some(_) => Work::Update,
            None => Work::Instantiate,
        };
        self.remember(work, false, applied.made.clone());
    }

    /// Remembers that the cloud is to be taken off its clusters.
    pub(super) fn remember_termination(&mut self, change: Change) {
        self.remember(Work::Terminate, false, change);
    }

    /// Remembers that the work was paused, whichever it was.
    pub(super) fn remember_pause(&mut self, change: Change) {
        let work = match (&self.applying, &self.applied, &self.terminated) {
            (Some(_), Some(_), _) => Work::Update,
            (Some(_), None, _) => Work::Instantiate,
            (None, _, Some(_)) => Work::Terminate,
            (None, Some(applied), None) if applied.updates => Work::Update,
            (None, _, None) => Work::Instantiate,
        };
        self.remember(work, true, change);
    }

    fn remember(&mut self, work: Work, paused: bool, change: Change) {
        let number = self.history.last().map_or(0, |last| last.number) + 1;
        self.history.push(Milestone { number, work, paused, change });
        let oldest = self.history.len().saturating_sub(HISTORY_MAX);
        self.history.drain(..oldest);
    }
}
