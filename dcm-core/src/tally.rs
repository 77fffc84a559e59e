//! Many events that a log is told of seldom, with how many there were.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// Counts events, so that many of them can't fill a log: it is told of the first at once, and of those after it together, once in an
/// interval.
///
/// ```
/// use dcm_core::tally::Tally;
/// use jiff::{SignedDuration, Timestamp};
///
/// let tally = Tally::told_every(SignedDuration::from_mins(1));
/// let begun = Timestamp::UNIX_EPOCH;
/// assert_eq!(tally.add(1, begun), Some(1));
/// assert_eq!(tally.add(1, begun + SignedDuration::from_secs(59)), None);
/// assert_eq!(tally.add(1, begun + SignedDuration::from_secs(60)), Some(2));
/// ```
#[derive(Debug)]
pub struct Tally {
    interval: SignedDuration,
    count: Mutex<Count>,
}

#[derive(Debug, Default)]
struct Count {
    untold: u64,
    /// When the log was told last.
    told: Option<Timestamp>,
}

impl Tally {
    /// Nothing yet; told of at most once in such an interval.
    #[must_use]
    pub fn told_every(interval: SignedDuration) -> Self {
        Self { interval, count: Mutex::default() }
    }

    /// Counts so many; gives how many the log is to be told of now.
    pub fn add(&self, events: u64, now: Timestamp) -> Option<u64> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.untold = count.untold.saturating_add(events);
        if count.told.is_some_and(|told| now.duration_since(told) < self.interval) {
            return None;
        }
        count.told = Some(now);
        Some(std::mem::take(&mut count.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_told_of_once_in_an_interval_with_their_number() {
        let tally = Tally::told_every(SignedDuration::from_mins(1));
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let many = [(0, 3), (1, 1), (59, 1), (60, 5), (61, 1), (300, 1)];
        let told = many.map(|(seconds, events)| tally.add(events, at(seconds)));
        assert_eq!(told, [Some(3), None, None, Some(7), None, Some(2)]);
    }
}
