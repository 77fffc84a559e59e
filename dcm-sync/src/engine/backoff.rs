//! How long to wait after a failure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Doublings after which the longest wait is reached for sure.
const DOUBLINGS_MAX: u32 = 16;

/// The wait after so many failures in a row (from 1): the first wait doubled with each, at most the longest one, of
/// which a random part between a half and the whole is taken so that what failed together does not come back together.
pub(crate) fn delay(failures: u32, min: Duration, max: Duration, random: u64) -> Duration {
    let doublings = failures.saturating_sub(1).min(DOUBLINGS_MAX);
    let whole = min.saturating_mul(1 << doublings).min(max);
    let half = whole / 2;
    half + part(half, random)
}

/// A random part of a time.
pub(crate) fn part(whole: Duration, random: u64) -> Duration {
    let micros = u64::try_from(whole.as_micros()).unwrap_or(u64::MAX).max(1);
    Duration::from_micros(random % micros)
}

/// Failures in a row of something that is to hold: a connection, a stream. It is not mended by beginning again, only by
/// holding for the longest wait; else what breaks right after each beginning would be begun as fast as at the first time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    failures: u32,
    /// When it began to hold; [`Timestamp::MAX`] while it does not. Not an `Option`, which takes half as much space again, and
    /// each cluster has several.
    held_since: Timestamp,
}

impl Default for Row {
    fn default() -> Self {
        Self { failures: 0, held_since: Timestamp::MAX }
    }
}

impl Row {
    /// It holds, from now on.
    pub(crate) fn holds(&mut self, now: Timestamp) {
        self.held_since = self.held_since.min(now);
    }

    /// It broke, or could not be begun: how long to wait.
    pub(crate) fn breaks(&mut self, now: Timestamp, min: Duration, max: Duration, random: u64) -> Duration {
        let held = now.duration_since(std::mem::replace(&mut self.held_since, Timestamp::MAX));
        if held >= SignedDuration::try_from(max).unwrap_or(SignedDuration::MAX) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        delay(self.failures, min, max, random)
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::port::clock::{Random as _, Seeded};

    use super::*;

    #[test]
    fn what_breaks_as_soon_as_it_holds_waits_longer_each_time_and_what_held_for_long_does_not() {
        let (min, max) = (Duration::from_secs(2), Duration::from_secs(60));
        let at = |seconds| Timestamp::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut row = Row::default();
        let mut waits = Vec::new();
        for seconds in [0, 10, 30, 100] {
            row.holds(at(seconds));
            waits.push(row.breaks(at(seconds + 1), min, max, 0).as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8]);
        assert_eq!(row.breaks(at(500), min, max, 0).as_secs(), 16, "it did not hold meanwhile");
        row.holds(at(600));
        row.holds(at(650));
        assert_eq!(row.breaks(at(660), min, max, 0).as_secs(), 1);
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_below_a_half() {
        let (min, max) = (Duration::from_millis(500), Duration::from_secs(60));
        let jitter = Seeded::new(1);
        for (failures, whole) in [(1, 500), (2, 1000), (3, 2000), (8, 60_000), (4_000_000_000, 60_000)] {
            let whole = Duration::from_millis(whole);
            let delay = delay(failures, min, max, jitter.next());
            assert!(delay >= whole / 2 && delay <= whole, "{failures}: {delay:?}");
        }
    }
}
