//! Results of requests: tried at the cluster, on their way into the store, and out of it.

use std::sync::Arc;

use dcm_core::app_context::Bundle;
use dcm_core::plan::{Plan, RequestWork, Step, Work};
use dcm_core::port::cluster::{Error, IssuedToken};
use dcm_core::port::synchronizer::Issued;
use dcm_core::port::trial::Trial;
use dcm_core::status::{LaneState, Reason};
use jiff::Timestamp;

use super::Machine;
use super::lane::Lane;
use super::naming::requests;
use super::replies::REFUSED_WAIT_FACTOR;
use super::steps::cause;
use crate::engine::Safeguard;
use crate::engine::event::What;
use crate::engine::io::LaneId;
use crate::record::{Answer, Outcome, SCHEMA};

/// What is in the way of a certificate that its cluster refuses, and the way out.
const CERTIFICATE_REFUSED: &str = "the cluster's API server does not accept the certificate that the cluster's signer issued (401): add the \
                                   signer's CA to the client CAs of the API server (--client-ca-file), or let the signer use one of \
                                   them; then apply again (dcm apply)";

/// What is in the way of a token that its cluster refuses, and the way out.
const TOKEN_REFUSED: &str = "the cluster's API server does not accept the token that the cluster issued (401): let all API servers of the \
                             cluster trust the key that signs tokens (--service-account-key-file) and apply again (dcm apply)";

impl Machine {
    /// A token was issued, and tried.
    pub(super) fn token_tried(
        &mut self,
        id: &LaneId,
        step: &Step,
        token: IssuedToken,
        trial: Result<Trial, Error>,
    ) {
        let Work::Request { name, work: RequestWork::Token { account, .. } } = &step.work else { return };
        let IssuedToken { token, expires } = token;
        if let Some(tried) = self.judge(id, step, trial, TOKEN_REFUSED) {
            let issued = Issued::Token { token, expires, received: Some(self.now), tried };
            self.issued(id, name, issued, account.clone());
        }
    }

    /// A certificate was tried.
    pub(super) fn certificate_tried(
        &mut self,
        id: &LaneId,
        step: &Step,
        pem: Arc<str>,
        trial: Result<Trial, Error>,
    ) {
        if let Some(tried) = self.judge(id, step, trial, CERTIFICATE_REFUSED) {
            self.certificate_issued(id, step, pem, tried);
        }
    }

    /// A certificate is there, and nothing speaks against it.
    pub(super) fn certificate_issued(&mut self, id: &LaneId, step: &Step, pem: Arc<str>, tried: bool) {
        let Work::Request { name, .. } = &step.work else { return };
        self.issued(id, name, Issued::Certificate { pem, received: Some(self.now), tried }, None);
    }

    /// Whether what was tried counts as issued: then, whether the cluster was seen to accept it. None: it waits for another try.
    /// What no client can use is refused when it is to be handed out, with what is wrong with it.
    fn judge(
        &mut self,
        id: &LaneId,
        step: &Step,
        trial: Result<Trial, Error>,
        refused: &'static str,
    ) -> Option<bool> {
        match trial {
            Ok(Trial::Accepted) => Some(true),
            Ok(Trial::Unusable) => Some(false),
            Ok(Trial::Refused) if !self.options.keeps(Safeguard::CredentialTried) => Some(false),
            // What nobody wants any more, such as after a revocation, holds nothing up.
            Ok(Trial::Refused) | Err(_) if !self.is_wanted(id, step) => None,
            Ok(Trial::Refused) => {
                if let (Some(lane), Work::Request { name, .. }) = (self.lane_mut(id), &step.work) {
                    lane.note_refused(name);
                }
                self.hinder_step(id, step, cause(Reason::NotAccepted, refused, step), REFUSED_WAIT_FACTOR);
                None
            }
            // Of the cluster as a whole its watches tell: it may refuse the connection of this one user alone.
            Err(error) => {
                self.step_failed(id, step, &error);
                None
            }
        }
    }

    /// True while the answer to a request is wanted.
    pub(super) fn is_wanted(&self, id: &LaneId, step: &Step) -> bool {
        let Work::Request { name, .. } = &step.work else { return false };
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        requests(bundle.as_deref()).any(|wanted| wanted == name)
    }

    /// Keeps a result until it is stored together with the lane's record.
    fn issued(&mut self, id: &LaneId, name: &Arc<str>, issued: Issued, account: Option<Arc<str>>) {
        let Some(lane) = self.lane_mut(id) else { return };
        lane.answered(Outcome { schema: SCHEMA, name: name.clone(), issued }, account);
        self.publish(&id.cluster, Some(&id.context), What::Issued(name.clone()));
    }

    /// Drops the results of requests that the plan sends again.
    pub(super) fn lapse(&mut self, id: &LaneId, plan: &Plan) {
        let lapsed = self.lane_mut(id).map(|lane| lane.lapse(plan)).unwrap_or_default();
        self.publish_lapsed(id, lapsed);
    }

    pub(super) fn publish_lapsed(&mut self, id: &LaneId, lapsed: Vec<Arc<str>>) {
        for name in lapsed {
            self.publish(&id.cluster, Some(&id.context), What::Lapsed(name));
        }
    }
}

impl Lane {
    /// A request is answered, and its result is stored with the next record.
    pub(super) fn answered(&mut self, outcome: Outcome, account: Option<Arc<str>>) {
        self.record.dropping.retain(|name| *name != outcome.name);
        self.record.lapsed.retain(|name| *name != outcome.name);
        self.forget_refused(&outcome.name);
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
        self.lapse_where(is_asked_again)
    }

    /// Marks answered requests as lapsed, and returns their names.
    pub(super) fn lapse_where(&mut self, is_meant: impl FnMut(&mut Answer) -> bool) -> Vec<Arc<str>> {
        let lapsed: Vec<Arc<str>> =
            self.record.issued.extract_if(.., is_meant).map(|answer| answer.name).collect();
        self.record.lapsed.extend(lapsed.iter().cloned());
        // What was not stored yet is not to be.
        self.outcomes.retain(|outcome| !lapsed.contains(&outcome.name));
        self.unsaved |= !lapsed.is_empty();
        self.claims_answered |= !lapsed.is_empty();
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
