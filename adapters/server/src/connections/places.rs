//! The places of a listener's connections, and who has to make room for whom.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::task::AtomicWaker;

use crate::network::Network;

/// The places of a listener's connections.
pub(super) struct Places {
    max: usize,
    /// How many of them one network may have.
    network_max: usize,
    taken: Mutex<Taken>,
    /// Counts what happens: a later moment is a greater number.
    moment: AtomicU64,
}

/// The places that are taken.
#[derive(Default)]
struct Taken {
    /// By the moment at which each was taken.
    all: BTreeMap<u64, Held>,
    /// How many each network has.
    by_network: BTreeMap<Network, usize>,
}

struct Held {
    /// None for who has no limit of their own.
    from: Option<Network>,
    state: Arc<State>,
}

/// What a connection does.
pub(super) struct State {
    /// Since which moment it has been idle, or one of the words below.
    idle_since: AtomicU64,
    /// Who waits for what is asked on it.
    pub(super) asked: AtomicWaker,
}

/// Something is asked, and there is no answer yet.
const BUSY: u64 = u64::MAX;

/// There is an answer, of which nothing is sent yet.
const ANSWERED: u64 = u64::MAX - 1;

/// Its place is another's: it is to end.
const ENDED: u64 = u64::MAX - 2;

impl Places {
    pub(super) fn new(max: usize, network_max: usize) -> Self {
        Self { max, network_max, taken: Mutex::default(), moment: AtomicU64::new(0) }
    }

    /// A place for a connection; none where nobody can make room. One that has as many as it may makes room itself.
    pub(super) fn take(self: &Arc<Self>, from: Option<Network>) -> Option<Place> {
        let mut taken = self.taken();
        while let Some(network) = from.filter(|from| taken.count_of(from) >= self.network_max) {
            taken.end_one(|held| held.from == Some(network))?;
        }
        while taken.all.len() >= self.max {
            taken.end_one(|_| true)?;
        }
        let number = self.next_moment();
        let state = Arc::new(State { idle_since: AtomicU64::new(number), asked: AtomicWaker::new() });
        taken.insert(number, Held { from, state: state.clone() });
        Some(Place { places: self.clone(), number, state })
    }

    fn next_moment(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::Relaxed)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn count_of(&self, network: &Network) -> usize {
        self.by_network.get(network).copied().unwrap_or_default()
    }

    fn insert(&mut self, number: u64, held: Held) {
        if let Some(network) = held.from {
            *self.by_network.entry(network).or_default() += 1;
        }
        self.all.insert(number, held);
    }

    fn remove(&mut self, number: u64) {
        let Some(network) = self.all.remove(&number).and_then(|held| held.from) else { return };
        let left = self.count_of(&network).saturating_sub(1);
        match left {
            0 => drop(self.by_network.remove(&network)),
            left => drop(self.by_network.insert(network, left)),
        }
    }

    /// Ends the one of these that has been idle longest; none where none is idle.
    fn end_one(&mut self, is_meant: impl Fn(&Held) -> bool) -> Option<()> {
        loop {
            let meant = self.all.iter().filter(|(_, held)| is_meant(held));
            let idle = meant.filter_map(|(number, held)| Some((held.state.idle_since()?, *number)));
            let (since, number) = idle.min()?;
            // One that is asked just now is not ended: the next one is.
            if self.all.get(&number).is_some_and(|held| held.state.end(since)) {
                self.remove(number);
                return Some(());
            }
        }
    }
}

impl State {
    fn idle_since(&self) -> Option<u64> {
        let word = self.idle_since.load(Ordering::Acquire);
        Some(word).filter(|word| !matches!(*word, BUSY | ANSWERED | ENDED))
    }

    /// Ends it, if it is still idle since then.
    fn end(&self, since: u64) -> bool {
        let ended = self.idle_since.compare_exchange(since, ENDED, Ordering::AcqRel, Ordering::Acquire);
        if ended.is_ok() {
            self.asked.wake();
        }
        ended.is_ok()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.idle_since.load(Ordering::Acquire) == ENDED
    }

    /// Something is asked; false where it has ended.
    pub(super) fn ask(&self) -> bool {
        self.becomes(BUSY, |before| before != ENDED)
    }

    /// What was asked has its answer.
    pub(super) fn answer(&self) {
        self.becomes(ANSWERED, |before| before == BUSY);
    }

    /// Goes on as something else where it is so; false where it is not.
    fn becomes(&self, now: u64, may: impl Fn(u64) -> bool) -> bool {
        let becomes = |before| may(before).then_some(now);
        self.idle_since.fetch_update(Ordering::AcqRel, Ordering::Acquire, becomes).is_ok()
    }
}

/// A place that is taken; given back when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    pub(super) state: Arc<State>,
}

impl Place {
    /// Something was sent: the connection is idle from now on, unless it is still being asked. What is sent before an answer asks for its body.
    pub(super) fn sent(&self) {
        let now = self.places.next_moment();
        self.state.becomes(now, |before| !matches!(before, BUSY | ENDED));
    }

    /// An answer can't be sent, as its reader has not taken what was before it: the connection is idle from now on.
    pub(super) fn waits_for_reader(&self) {
        let now = self.places.next_moment();
        self.state.becomes(now, |before| before == ANSWERED);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another's since it was ended.
        self.places.taken().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Option<Network> {
        Some(Network::of(address.parse().unwrap()))
    }

    #[test]
    fn a_network_with_too_many_connections_makes_room_for_itself_alone() {
        let places = Arc::new(Places::new(10, 2));
        let other = places.take(network("192.0.2.9")).unwrap();
        let mut own = [(); 2].map(|()| places.take(network("192.0.2.1")).unwrap());
        let third = places.take(network("192.0.2.1")).unwrap();
        assert_eq!(
            [&other, &own[0], &own[1], &third].map(|place| place.state.is_ended()),
            [false, true, false, false]
        );
        assert!(own[1].state.ask() && third.state.ask());
        assert!(places.take(network("192.0.2.1")).is_none());
        assert!(places.take(network("192.0.2.2")).is_some());
        // What has ended was counted no more.
        own[1] = other;
        assert!(places.take(network("192.0.2.1")).is_some());
    }

    #[test]
    fn the_connection_that_is_idle_longest_makes_room() {
        let places = Arc::new(Places::new(3, 3));
        let held = [(); 3].map(|()| places.take(None).unwrap());
        for place in [0, 1, 2, 0] {
            assert!(held[place].state.ask());
            held[place].state.answer();
            held[place].sent();
        }
        let ended = || held.each_ref().map(|place| place.state.is_ended());
        let _fourth = places.take(None).unwrap();
        assert_eq!(ended(), [false, true, false]);
        let _fifth = places.take(None).unwrap();
        assert_eq!(ended(), [false, true, true]);
    }

    #[test]
    fn who_has_no_limit_of_their_own_may_take_all() {
        let places = Arc::new(Places::new(3, 1));
        let taken = [(); 3].map(|()| places.take(None).unwrap());
        assert!(taken.iter().all(|place| place.state.ask()));
        assert!(places.take(None).is_none());
        drop(taken);
        assert!(places.take(None).is_some() && places.taken().by_network.is_empty());
    }

    #[test]
    fn a_connection_whose_answer_waits_for_its_reader_is_idle_and_one_that_is_asked_is_not() {
        let places = Arc::new(Places::new(1, 1));
        let place = places.take(None).unwrap();
        assert!(place.state.ask());
        place.waits_for_reader();
        assert!(places.take(None).is_none());
        place.state.answer();
        place.waits_for_reader();
        assert!(places.take(None).is_some() && place.state.is_ended());
    }

    #[test]
    fn a_connection_is_idle_again_when_something_of_its_answer_is_sent() {
        let places = Arc::new(Places::new(1, 1));
        let place = places.take(None).unwrap();
        assert!(place.state.ask());
        // Its body is asked for.
        place.sent();
        assert!(places.take(None).is_none());
        place.state.answer();
        assert!(places.take(None).is_none());
        place.sent();
        assert!(places.take(None).is_some());
        assert!(place.state.is_ended() && !place.state.ask());
    }
}
