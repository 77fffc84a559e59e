//! How long to wait after a failure.

use std::time::Duration;

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

/// Seeded pseudo-random numbers for jitter (SplitMix64): small, and the same on every run of one seed.
#[derive(Debug, Clone)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_below_a_half() {
        let (min, max) = (Duration::from_millis(500), Duration::from_secs(60));
        let mut jitter = Jitter::new(1);
        for (failures, whole) in [(1, 500), (2, 1000), (3, 2000), (8, 60_000), (4_000_000_000, 60_000)] {
            let whole = Duration::from_millis(whole);
            let delay = delay(failures, min, max, jitter.next());
            assert!(delay >= whole / 2 && delay <= whole, "{failures}: {delay:?}");
        }
    }
}
