//! Places from which many tokens came that proved nothing.
//!
//! To check the signature of a token costs more than to refuse it unseen. So where tokens that prove nothing come from one place more often than the
//! limit of requests allows, further ones from there wait until the limit allows the next one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

/// How many places can wait at once. Where there are more, the others do not wait: nobody is refused for want of room.
const PLACES_MAX: usize = 10_000;

/// Until when the tokens of each place wait.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<BTreeMap<String, Timestamp>>);

impl Guesses {
    /// How long the tokens of a place still wait; none where they do not.
    pub(super) fn wait(&self, place: &str, now: Timestamp) -> Option<Duration> {
        let until = *self.places().get(place)?;
        Duration::try_from(until.duration_since(now)).ok().filter(|left| !left.is_zero())
    }

    /// Has the tokens of a place wait for so long from now on.
    pub(super) fn put_off(&self, place: String, now: Timestamp, after: Duration) {
        let mut places = self.places();
        if places.len() >= PLACES_MAX {
            places.retain(|_, until| *until > now);
        }
        if places.len() < PLACES_MAX
            && let Ok(until) = now.checked_add(after)
        {
            places.insert(place, until);
        }
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_waits_for_its_own_time_alone() {
        let guesses = Guesses::default();
        let now = Timestamp::UNIX_EPOCH;
        guesses.put_off("a".to_owned(), now, Duration::from_secs(2));
        assert_eq!(guesses.wait("a", now), Some(Duration::from_secs(2)));
        assert_eq!(guesses.wait("b", now), None);
        assert_eq!(guesses.wait("a", now + Duration::from_secs(2)), None);
    }
}
