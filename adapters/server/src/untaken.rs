//! Connections that could not be taken: in the log, without anybody who connects being able to fill it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use dcm_core::port::clock::Clock;
use jiff::{SignedDuration, Timestamp};

use crate::accepting::Origin;

/// How often it is said at most how many there were.
const TOLD_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Tells of connections of a listener that could not be taken: of each for whoever looks for a fault, and how many there were as a warning.
pub(crate) struct Untaken {
    clock: Arc<dyn Clock>,
    count: Mutex<Count>,
}

/// Those that no warning has told of.
#[derive(Debug, Default)]
struct Count {
    untold: u64,
    /// When the last warning was.
    told: Option<Timestamp>,
}

impl Untaken {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, count: Mutex::default() }
    }

    /// Tells of another one: a handshake that failed, or one too many.
    pub(crate) fn tell(&self, origin: Option<&Origin>, error: &io::Error) {
        let origin = origin.map(|Origin(address)| tracing::field::display(address));
        tracing::debug!(origin, %error, "a connection could not be taken");
        let now = self.clock.now();
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner).add(now);
        if let Some(count) = count {
            tracing::warn!(count, origin, %error, "connections could not be taken: this is the last one");
        }
    }
}

impl Count {
    /// Counts one; gives how many are to be told of now.
    fn add(&mut self, now: Timestamp) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| now.duration_since(told) < TOLD_EVERY) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_told_of_once_a_minute_with_their_number() {
        let mut count = Count::default();
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let told: Vec<_> = [0, 1, 59, 60, 61, 300].map(|seconds| count.add(at(seconds))).into();
        assert_eq!(told, [Some(1), None, None, Some(3), None, Some(2)]);
    }
}
