//! How long to wait after a failure.

use std::time::Duration;

use jiff::Timestamp;

/// Doublings after which the longest wait is reached for sure.
const DOUBLINGS_MAX: u32 = 16;

/// The wait after so many failures in a row (from 1): the first wait doubled with each, at most the longest one, of
/// which a random part between a half and the whole is taken so that what failed together does not come back together.
pub(crate) fn delay(failures: u32, min: Duration, max: Duration, random: u64) -> Duration {
    let doublings = failures.saturating_sub(1).min(DOUBLINGS_MAX);
    let whole = min.saturating_mul(1 << doublings).min(max);
    let half = whole / 2;
    let jitter = u64::try_from(half.as_micros()).unwrap_or(u64::MAX).max(1);
    half + Duration::from_micros(random % jitter)
}

/// Failures in a row of something that is to hold: a connection, a stream. It is not mended by beginning again, only by
/// holding for the longest wait; else what breaks right after each beginning would be begun as fast as at the first time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Row {
    failures: u32,
    held_since: Option<Timestamp>,
}

impl Row {
    /// It holds, from now on.
    pub(crate) fn holds(&mut self, now: Timestamp) {
        self.held_since.get_or_insert(now);
    }

    /// It broke, or could not be begun: how long to wait.
    pub(crate) fn breaks(&mut self, now: Timestamp, min: Duration, max: Duration, random: u64) -> Duration {
        if self.held_since.take().is_some_and(|since| now >= since + max) {
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
