//! Results of requests on their way into the store, and out of it.

use std::sync::Arc;

use dcm_core::app_context::Bundle;
use dcm_core::plan::{Plan, RequestWork, Work};
use dcm_core::status::LaneState;
use jiff::Timestamp;

use super::lane::Lane;
use super::naming::requests;
use crate::record::{Answer, Outcome};

impl Lane {
    /// A request is answered, and its result is stored with the next record.
    pub(super) fn answered(&mut self, outcome: Outcome, account: Option<Arc<str>>) {
        self.record.dropping.retain(|name| *name != outcome.name);
        self.record.lapsed.retain(|name| *name != outcome.name);
        self.record.issued.push(Answer { name: outcome.name.clone(), account });
        self.outcomes.push(outcome);
        self.unsaved = true;
        self.signer_since = None;
    }

    /// Forgets the answered requests that the bundle does not have, when nothing is to take their place: their results are
    /// dropped.
    pub(super) fn forget_outdated(&mut self, bundle: Option<&Bundle>) {
        let record = &mut self.record;
        if !record.drops_results() {
            return;
        }
        let is_wanted = |name: &Arc<str>| requests(bundle).any(|wanted| wanted == name);
        let issued = std::mem::take(&mut record.issued);
        let (issued, outdated): (Vec<_>, Vec<_>) =
            issued.into_iter().partition(|answer| is_wanted(&answer.name));
        record.issued = issued;
        record.dropping.extend(outdated.into_iter().map(|answer| answer.name));
        record.dropping.extend(record.lapsed.extract_if(.., |name| !is_wanted(name)));
    }

    /// Marks answered requests that the plan sends again as lapsed, and returns their names. Their results are deleted when the
    /// record is stored.
    pub(super) fn lapse(&mut self, plan: &Plan) -> Vec<Arc<str>> {
        let is_asked_again = |answer: &mut Answer| {
            plan.steps().iter().any(|step| match &step.work {
                Work::Request { name, work: RequestWork::Token { .. } } => *name == answer.name,
                _ => false,
            })
        };
        let lapsed: Vec<Arc<str>> =
            self.record.issued.extract_if(.., is_asked_again).map(|answer| answer.name).collect();
        self.record.lapsed.extend(lapsed.iter().cloned());
        // What was not stored yet is not to be.
        self.outcomes.retain(|outcome| !lapsed.contains(&outcome.name));
        self.unsaved |= !lapsed.is_empty();
        lapsed
    }

    /// What the stored record says to be dropped is gone: the next record says it no more. A lane that rests has one written
    /// for that, or every worker that reads it would do it again. While something is under way there may be results yet; and what
    /// had no answer may come late, where batches are not atomic without the record that it came with: then it gives the time at
    /// which all is dropped once more.
    pub(super) fn results_dropped(&mut self, now: Timestamp) -> Option<Timestamp> {
        if !self.record.drops_results() || !self.calls.is_empty() || self.record.dropping.is_empty() {
            return None;
        }
        if let Some(until) = self.unanswered_until(now) {
            return Some(until);
        }
        let rests = matches!(self.record.state, LaneState::Done | LaneState::Removed) && !self.record.untidy;
        self.unsaved |= rests;
        // An emptied list keeps its memory, and most lanes rest.
        self.record.dropping = Vec::new();
        None
    }
}
