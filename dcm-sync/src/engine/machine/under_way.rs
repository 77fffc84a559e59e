//! Requests that are under way.

use std::collections::BTreeMap;

use dcm_core::plan::{Step, Wave};

use crate::engine::io::{Epoch, LaneId, Ticket};

/// A request that is under way.
pub(super) struct Pending {
    pub lane: LaneId,
    pub epoch: Epoch,
    pub step: Step,
}

/// All requests that are under way.
#[derive(Default)]
pub(super) struct UnderWay {
    by_ticket: BTreeMap<Ticket, Pending>,
    /// How many of them only clear answered requests away.
    tidying: usize,
}

impl UnderWay {
    pub(super) fn insert(&mut self, ticket: Ticket, pending: Pending) {
        self.tidying += usize::from(pending.step.wave == Wave::Tidy);
        self.by_ticket.insert(ticket, pending);
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Pending> {
        let pending = self.by_ticket.remove(&ticket)?;
        self.tidying -= usize::from(pending.step.wave == Wave::Tidy);
        Some(pending)
    }

    pub(super) fn contains(&self, ticket: Ticket) -> bool {
        self.by_ticket.contains_key(&ticket)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_ticket.is_empty()
    }

    /// True when nobody waits for any of them.
    pub(super) fn is_only_tidying(&self) -> bool {
        self.by_ticket.len() == self.tidying
    }
}
