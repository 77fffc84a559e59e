//! Versions without a counter: each is the server's time in milliseconds with some random bits, and always above the one that it
//! follows.
//!
//! A path's versions grow, since each write names the version that it follows and gives a higher one; that of a deleted document
//! stays on the server for longer than clocks go wrong. Two writers that follow the same version never give the same one, but for
//! one chance in a million, and so each knows its own.

use std::time::{SystemTime, UNIX_EPOCH};

use dcm_core::port::store::Version;

/// Bits below the milliseconds.
const RANDOM_BITS: u32 = 20;

/// The highest version: MongoDB has no larger number.
const MAX: u64 = i64::MAX.unsigned_abs();

/// A version for a write now that follows another one, or none.
pub(super) fn next(after: Option<Version>, now: SystemTime, random: u64) -> Version {
    let random = random & ((1 << RANDOM_BITS) - 1);
    let after = after.map_or(0, |after| after.0.saturating_add(1));
    Version(of_time(now).0.max(after).saturating_add(random).min(MAX))
}

/// The lowest version of a time.
pub(super) fn of_time(time: SystemTime) -> Version {
    let elapsed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    // 43 bits of milliseconds last for 278 years.
    Version((u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).min(MAX >> RANDOM_BITS)) << RANDOM_BITS)
}

/// As MongoDB keeps it; none for one that no document can have.
pub(super) fn number(version: Version) -> Option<i64> {
    i64::try_from(version.0).ok().filter(|_| version != Version::UNREADABLE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn a_version_is_above_the_one_that_it_follows_whatever_the_clock_says() {
        let now = UNIX_EPOCH + NOW;
        let first = next(None, now, 7);
        assert!(first > of_time(now) && first < of_time(now + Duration::from_millis(1)));
        for later in [now, now - Duration::from_secs(3600), UNIX_EPOCH - NOW] {
            assert!(next(Some(first), later, 0) > first);
        }
        assert!(next(Some(first), now + NOW, 0) >= of_time(now + NOW));
    }

    #[test]
    fn the_highest_version_is_a_number_of_mongodb() {
        assert_eq!(number(next(Some(Version(u64::MAX)), UNIX_EPOCH, u64::MAX)), Some(i64::MAX));
        assert_eq!([Version(u64::MAX), Version::UNREADABLE].map(number), [None; 2]);
    }
}
