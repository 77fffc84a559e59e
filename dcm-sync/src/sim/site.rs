//! One simulated cluster behind its link: the server, what is on the way to it, and who watches it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use dcm_core::name::ClusterId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{Error, Object, Selection};
use jiff::Timestamp;

use super::Seeded;
use super::changes::Seen;
use super::fault::{Fault, Faults, Link, share};
use super::object::later;
use super::request::{Reply, Request, Verb};
use super::server::Server;
use super::snapshot::Snapshot;
use super::witness::{Arrival, Witness};

/// How far away a cluster is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

    pub(crate) fn one_way(self, random: &Seeded) -> Duration {
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

    /// When a watch tells of a change that happened at a time.
    fn told(&self, revision: u64, at: Timestamp, travel: Duration) -> Timestamp {
        let lag = share(self.faults.watch_lag_max, &Seeded::new(revision));
        later(at, travel.saturating_add(lag))
    }

    fn trip(&self, verb: Verb) -> Trip {
        let fault = self.faults.draw(verb, &self.random);
        let travel = self.latency.one_way(&self.random) + self.link_delay();
        let late = if let Fault::Delayed(delay) = fault { delay } else { Duration::ZERO };
        Trip { fault, there: travel + late, back: travel }
    }
}

/// A request on its way to the server. Once it has left, it arrives, whatever becomes of its sender.
#[derive(Debug)]
struct InTransit {
    request: Request,
    /// How often it arrives.
    times: usize,
    /// Somebody waits for the answer, and looks when it is due.
    is_awaited: bool,
}

/// All that changes of a simulated cluster.
pub(super) struct State {
    pub(super) server: Server,
    pub(super) way: Way,
    id: ClusterId,
    witness: Option<Arc<dyn Witness>>,
    in_transit: BTreeMap<(Timestamp, u64), InTransit>,
    /// Answers that are not taken yet, by the number of the request.
    answers: BTreeMap<u64, Result<Reply, Error>>,
    sent_count: u64,
    /// Counts the starts of the server: a watch of an earlier one breaks.
    starts: u64,
    watchers: BTreeMap<u64, Waker>,
    watchers_count: u64,
    /// Grows when watchers have something to look at.
    stirred: u64,
}

impl State {
    /// Lets happen what was due by now: arrivals, and what the server does by itself.
    fn advance(&mut self, now: Timestamp) {
        let before = self.server.revision();
        while let Some(entry) = self.in_transit.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, number), transit) = entry.remove_entry();
            // What left before the link broke is lost.
            if !matches!(self.way.link, Link::Cut | Link::Hang) {
                self.arrive(at, number, &transit);
            }
        }
        self.server.advance(now);
        self.stir_if_changed(before);
    }

    fn arrive(&mut self, at: Timestamp, number: u64, transit: &InTransit) {
        for time in 0..transit.times {
            let (cluster, request) = (&self.id, &transit.request);
            let before = self.witness.as_ref().and_then(|_| self.server.before(&request.operation));
            let answer = self.server.handle(request, at);
            if let Some(witness) = &self.witness {
                let before = before.as_ref();
                witness.handled(&Arrival { cluster, at, request, before, answer: &answer });
            }
            if time == 0 && transit.is_awaited {
                self.answers.insert(number, answer);
            }
        }
    }

    /// Begins the server anew: every watch breaks.
    pub(super) fn restart(&mut self) {
        self.starts += 1;
    }

    /// Begins the server anew with what it had when the snapshot was taken.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        self.server.restore(snapshot);
        self.restart();
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

    /// When something happens at which nobody else looks.
    fn next_due(&self) -> Option<Timestamp> {
        let unattended = self.in_transit.iter().find(|(_, transit)| !transit.is_awaited);
        let unattended = unattended.map(|((at, _), _)| *at);
        unattended.into_iter().chain(self.server.next_due()).min()
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

/// What becomes of a list between two of its pages.
#[derive(Debug)]
pub(super) enum NextPage {
    /// It goes on.
    AsListed,
    /// It is no longer kept; this is there now.
    Anew(Vec<Object>, u64),
    /// The watch breaks.
    Broken(Error),
}

/// A simulated cluster, for all who hold it.
pub(super) struct Site {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) time_limit: Duration,
    state: Mutex<State>,
}

/// What a site is made of.
pub(super) struct Plan {
    pub(super) id: ClusterId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) time_limit: Duration,
    pub(super) server: Server,
    pub(super) latency: Latency,
    pub(super) random: Seeded,
    pub(super) witness: Option<Arc<dyn Witness>>,
}

impl Site {
    pub(super) fn new(plan: Plan) -> Self {
        let Plan { id, clock, time_limit, server, latency, random, witness } = plan;
        let state = State {
            server,
            way: Way { link: Link::Up, faults: Faults::NONE, latency, random },
            id,
            witness,
            in_transit: BTreeMap::new(),
            answers: BTreeMap::new(),
            sent_count: 0,
            starts: 0,
            watchers: BTreeMap::new(),
            watchers_count: 0,
            stirred: 0,
        };
        Self { clock, time_limit, state: Mutex::new(state) }
    }

    /// A panic elsewhere leaves a state that is whole: each change of it is.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets happen what was due by now. Watchers look again only where it changed anything.
    pub(super) fn advance(&self) {
        let now = self.clock.now();
        self.lock().advance(now);
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

    /// Sends a request. It arrives after a while, whoever waits for it then.
    pub(super) fn send(self: &Arc<Self>, request: Request, times: usize, there: Duration) -> Awaiting {
        let mut state = self.lock();
        state.sent_count += 1;
        let key = (later(self.clock.now(), there), state.sent_count);
        state.in_transit.insert(key, InTransit { request, times, is_awaited: true });
        Awaiting { site: self.clone(), key }
    }

    /// A new watcher's number, and the start of the server that it belongs to.
    pub(super) fn add_watcher(&self) -> (u64, u64) {
        let mut state = self.lock();
        state.watchers_count += 1;
        (state.watchers_count, state.starts)
    }

    pub(super) fn drop_watcher(&self, id: u64) {
        self.lock().watchers.remove(&id);
    }

    /// What becomes of a list that has told a page.
    pub(super) fn page(&self, start: u64, selection: &Selection) -> NextPage {
        let mut state = self.lock();
        state.advance(self.clock.now());
        let broken = |what| NextPage::Broken(super::fault::unreachable(what));
        match state.way.link {
            Link::Cut | Link::Reset | Link::Hang => broken("the connection broke"),
            _ if state.starts != start => broken("the server was restarted"),
            _ if !state.way.faults.outruns_watch(&state.way.random) => NextPage::AsListed,
            _ => match state.server.selected(selection) {
                Ok((objects, revision)) => NextPage::Anew(objects, revision),
                Err(error) => NextPage::Broken(error),
            },
        }
    }

    /// What a watch sees that has seen all up to a revision.
    pub(super) fn look(&self, start: u64, after: u64, selection: &Selection) -> Look {
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
        if state.starts != start {
            return Look::Broken(Some(super::fault::unreachable("the server was restarted")));
        }
        let travel = state.way.latency.max / 2 + state.way.link_delay();
        match state.server.next_change(after, selection) {
            Err(error) => Look::Broken(Some(error)),
            Ok((revision, None)) if revision == after => later_at(state.next_due()),
            Ok((revision, Some((at, _)))) if state.way.told(revision, at, travel) > now => {
                later_at(Some(state.way.told(revision, at, travel)))
            }
            Ok((_, Some(_))) if state.way.faults.breaks_watch(&state.way.random) => Look::Broken(None),
            Ok((_, Some(_))) if state.way.faults.outruns_watch(&state.way.random) => {
                Look::Broken(Some(Error::Gone))
            }
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

/// Waits for the answer to a request that was sent.
pub(super) struct Awaiting {
    site: Arc<Site>,
    key: (Timestamp, u64),
}

impl Awaiting {
    /// The answer, when the request has arrived by now; none when it never will.
    pub(super) fn answer(self) -> Option<Result<Reply, Error>> {
        let now = self.site.clock.now();
        let mut state = self.site.lock();
        state.advance(now);
        state.answers.remove(&self.key.1)
    }
}

impl Drop for Awaiting {
    /// Who gave up does not look any more when the request arrives.
    fn drop(&mut self) {
        let mut state = self.site.lock();
        state.answers.remove(&self.key.1);
        if let Some(transit) = state.in_transit.get_mut(&self.key) {
            transit.is_awaited = false;
            state.stir();
        }
    }
}
