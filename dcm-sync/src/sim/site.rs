//! One simulated cluster behind its link: the server, what is on the way to it, and who watches it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{Error, Selection};
use jiff::Timestamp;

use super::changes::Seen;
use super::fault::{Fault, Faults, Link, share};
use super::object::later;
use super::request::{Reply, Request, Verb};
use super::seeded::Seeded;
use super::server::Server;

/// How far away a cluster is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency {
    /// The shortest round trip.
    pub min: Duration,
    /// The longest round trip.
    pub max: Duration,
}

impl Latency {
    /// The same for each round trip.
    #[must_use]
    pub fn fixed(round_trip: Duration) -> Self {
        Self { min: round_trip, max: round_trip }
    }

    fn one_way(self, random: &Seeded) -> Duration {
        (self.min + share(self.max.saturating_sub(self.min), random)) / 2
    }
}

/// What lies between the caller and the server.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) link: Link,
    pub(super) faults: Faults,
    pub(super) latency: Latency,
    random: Seeded,
}

/// What one call meets on its way.
#[derive(Debug)]
pub(super) struct Trip {
    pub(super) fault: Fault,
    pub(super) there: Duration,
    pub(super) back: Duration,
}

impl Way {
    fn link_delay(&self) -> Duration {
        if let Link::Delay(delay) = self.link { delay } else { Duration::ZERO }
    }

    fn trip(&self, verb: Verb) -> Trip {
        let fault = self.faults.draw(verb, &self.random);
        let travel = self.latency.one_way(&self.random) + self.link_delay();
        let late = if let Fault::Delayed(delay) = fault { delay } else { Duration::ZERO };
        Trip { fault, there: travel + late, back: travel }
    }
}

/// All that changes of a simulated cluster.
#[derive(Debug)]
pub(super) struct State {
    pub(super) server: Server,
    pub(super) way: Way,
    /// Requests that arrive after their callers have given up.
    late: BTreeMap<(Timestamp, u64), Request>,
    late_count: u64,
    watchers: BTreeMap<u64, Waker>,
    watchers_count: u64,
    /// Grows when watchers have something to look at.
    stirred: u64,
}

impl State {
    /// Lets happen what was due by now: late arrivals, and what the server does by itself.
    fn advance(&mut self, now: Timestamp) {
        let before = self.server.revision();
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, _), request) = entry.remove_entry();
            if let Err(error) = self.server.handle(&request, at) {
                tracing::trace!(%error, "a late request was refused");
            }
        }
        self.server.advance(now);
        self.stir_if_changed(before);
    }

    fn stir_if_changed(&mut self, before: u64) {
        if self.server.revision() != before {
            self.stir();
        }
    }

    fn stir(&mut self) {
        self.stirred += 1;
        std::mem::take(&mut self.watchers).into_values().for_each(Waker::wake);
    }

    fn next_due(&self) -> Option<Timestamp> {
        let late = self.late.first_key_value().map(|((at, _), _)| *at);
        late.into_iter().chain(self.server.next_due()).min()
    }
}

/// What a watcher does next.
#[derive(Debug)]
pub(super) enum Look {
    /// Pass this on: the watch is up to date to this revision.
    Saw(Box<Seen>),
    /// The watch breaks.
    Broken(Option<Error>),
    /// Look again when something stirs, or at this time.
    Later { stirred: u64, at: Option<Timestamp> },
}

/// A simulated cluster, for all who hold it.
pub(super) struct Site {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) time_limit: Duration,
    state: Mutex<State>,
}

impl Site {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        time_limit: Duration,
        server: Server,
        latency: Latency,
        random: Seeded,
    ) -> Self {
        let way = Way { link: Link::Up, faults: Faults::NONE, latency, random };
        let (late, watchers) = (BTreeMap::new(), BTreeMap::new());
        let state = State { server, way, late, late_count: 0, watchers, watchers_count: 0, stirred: 0 };
        Self { clock, time_limit, state: Mutex::new(state) }
    }

    /// A panic elsewhere leaves a state that is whole: each change of it is.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at, or changes, what is there at the present time; watchers look again afterwards.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        state.advance(self.clock.now());
        let result = act(&mut state);
        state.stir();
        result
    }

    /// The link, and what a call meets that sets out now.
    pub(super) fn depart(&self, verb: Verb) -> (Link, Trip) {
        let state = self.lock();
        (state.way.link, state.way.trip(verb))
    }

    pub(super) fn link(&self) -> Link {
        self.lock().way.link
    }

    /// Lets a request arrive now.
    pub(super) fn arrive(&self, request: &Request, times: usize) -> Result<Reply, Error> {
        let now = self.clock.now();
        let mut state = self.lock();
        state.advance(now);
        let before = state.server.revision();
        let result = state.server.handle(request, now);
        for _ in 1..times {
            if let Err(error) = state.server.handle(request, now) {
                tracing::trace!(%error, "a duplicate was refused");
            }
        }
        state.stir_if_changed(before);
        result
    }

    /// Lets a request arrive later, whoever waits for it.
    pub(super) fn arrive_late(&self, request: Request, after: Duration) {
        let mut state = self.lock();
        state.late_count += 1;
        let key = (later(self.clock.now(), after), state.late_count);
        state.late.insert(key, request);
        state.stir();
    }

    pub(super) fn add_watcher(&self) -> u64 {
        let mut state = self.lock();
        state.watchers_count += 1;
        state.watchers_count
    }

    pub(super) fn drop_watcher(&self, id: u64) {
        self.lock().watchers.remove(&id);
    }

    /// What a watch sees that has seen all up to a revision.
    pub(super) fn look(&self, after: u64, selection: &Selection) -> Look {
        let now = self.clock.now();
        let mut state = self.lock();
        state.advance(now);
        let later_at = |at: Option<Timestamp>| Look::Later { stirred: state.stirred, at };
        match state.way.link {
            Link::Cut | Link::Reset => {
                return Look::Broken(Some(super::fault::unreachable("the connection broke")));
            }
            Link::Hang => return later_at(None),
            Link::Up | Link::Delay(_) => {}
        }
        let travel = state.way.latency.max / 2 + state.way.link_delay();
        match state.server.next_change(after, selection) {
            Err(error) => Look::Broken(Some(error)),
            Ok((revision, None)) if revision == after => later_at(state.next_due()),
            Ok((_, Some((at, _)))) if later(at, travel) > now => later_at(Some(later(at, travel))),
            Ok((_, Some(_))) if state.way.faults.breaks_watch(&state.way.random) => Look::Broken(None),
            Ok(seen) => Look::Saw(Box::new(seen)),
        }
    }

    /// Ready when something stirred since.
    pub(super) fn poll_stirred(&self, id: u64, stirred: u64, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.stirred != stirred {
            return Poll::Ready(());
        }
        state.watchers.insert(id, context.waker().clone());
        Poll::Pending
    }
}
