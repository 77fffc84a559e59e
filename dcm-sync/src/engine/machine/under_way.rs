//! Requests that are under way.

use std::collections::BTreeMap;
use std::time::Duration;

use dcm_core::app_context::Generation;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ClusterId;
use dcm_core::plan::{RequestWork, Step, Wave, Work};
use jiff::Timestamp;

use crate::engine::io::{Effect, Epoch, LaneId, Ticket};

/// A request that is under way longer than this hangs, and counts no more for the limit over all clusters.
const YOUNG: Duration = Duration::from_secs(2);

/// A request that is under way.
pub(super) struct Pending {
    pub lane: LaneId,
    pub epoch: Epoch,
    pub generation: Generation,
    pub step: Step,
}

impl Pending {
    pub(super) fn is_token(&self) -> bool {
        matches!(self.step.work, Work::Request { work: RequestWork::Token { .. }, .. })
    }
}

/// What a connection begins with: itself, or the first list of a watch on it.
type Opening = (ClusterId, Epoch, Option<GroupVersionKind>);

/// All requests that are under way.
#[derive(Default)]
pub(super) struct UnderWay {
    by_ticket: BTreeMap<Ticket, Pending>,
    /// How many of them only clear answered requests away.
    tidying: usize,
    /// What connections begin with.
    openings: BTreeMap<Opening, Ticket>,
    /// Those that count for the limit over all clusters, and when they began: later ones have higher tickets.
    young: BTreeMap<Ticket, Timestamp>,
}

impl UnderWay {
    pub(super) fn insert(&mut self, ticket: Ticket, pending: Pending, now: Timestamp) {
        self.tidying += usize::from(pending.step.wave == Wave::Tidy);
        self.by_ticket.insert(ticket, pending);
        self.young.insert(ticket, now);
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Pending> {
        self.young.remove(&ticket);
        let pending = self.by_ticket.remove(&ticket)?;
        self.tidying -= usize::from(pending.step.wave == Wave::Tidy);
        Some(pending)
    }

    /// The cluster to which a request was sent.
    pub(super) fn cluster(&self, ticket: Ticket) -> Option<&ClusterId> {
        self.lane(ticket).map(|lane| &lane.cluster)
    }

    /// The lane for which a request was sent.
    pub(super) fn lane(&self, ticket: Ticket) -> Option<&LaneId> {
        self.by_ticket.get(&ticket).map(|pending| &pending.lane)
    }

    /// The generation for which a request was sent.
    pub(super) fn generation(&self, ticket: Ticket) -> Option<Generation> {
        self.by_ticket.get(&ticket).map(|pending| pending.generation)
    }

    /// True for a request for a token. The cluster may issue it whatever becomes of the connection, and what is asked for once
    /// more would be issued twice: its answer is awaited.
    pub(super) fn is_token(&self, ticket: Ticket) -> bool {
        self.by_ticket.get(&ticket).is_some_and(Pending::is_token)
    }

    /// A connection, or a watch, is being opened. True: in place of one that is still being opened, of which nothing is heard any
    /// more.
    pub(super) fn open(&mut self, ticket: Ticket, effect: &Effect, now: Timestamp) -> bool {
        let opening = match effect {
            Effect::Connect(cluster, epoch) => (cluster.clone(), *epoch, None),
            Effect::Watch(cluster, epoch, kind, _) => (cluster.clone(), *epoch, Some(kind.clone())),
            _ => return false,
        };
        let replaced = self.openings.insert(opening, ticket);
        self.young.insert(ticket, now);
        replaced.is_some_and(|replaced| {
            self.young.remove(&replaced);
            true
        })
    }

    /// A cluster answered, or refused, what its connection begins with. False: it had before.
    pub(super) fn opened(&mut self, opening: &Opening) -> bool {
        let Some(ticket) = self.openings.remove(opening) else { return false };
        self.young.remove(&ticket);
        true
    }

    /// A connection is given up: nobody waits for what it would begin with.
    pub(super) fn close(&mut self, cluster: &ClusterId) {
        let first = (cluster.clone(), Epoch::default(), None);
        let all = self.openings.range(first..).take_while(|((of, ..), _)| of == cluster);
        let all: Vec<Opening> = all.map(|(opening, _)| opening.clone()).collect();
        for opening in &all {
            self.opened(opening);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_ticket.is_empty()
    }

    /// True when nobody waits for any of them.
    pub(super) fn is_only_tidying(&self) -> bool {
        self.by_ticket.len() == self.tidying
    }

    /// How many requests count for the limit over all clusters.
    pub(super) fn count_young(&mut self, now: Timestamp) -> usize {
        while let Some(oldest) = self.young.first_entry().filter(|oldest| now >= *oldest.get() + YOUNG) {
            oldest.remove();
        }
        self.young.len()
    }

    /// When the next one counts no more, if it is not answered before.
    pub(super) fn next_to_age(&self) -> Option<Timestamp> {
        self.young.first_key_value().map(|(_, begun)| *begun + YOUNG)
    }
}
