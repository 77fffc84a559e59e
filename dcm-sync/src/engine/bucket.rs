//! Token buckets: a rate with a burst.

use std::time::Duration;

use jiff::Timestamp;

/// Millionths of a token in one token: whole numbers keep replays exact.
const MICRO: u64 = 1_000_000;

/// A token bucket. Time is an argument.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    per_second: u64,
    burst_micro: u64,
    micro: u64,
    updated: Timestamp,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(per_second: u32, burst: u32, now: Timestamp) -> Self {
        let burst_micro = u64::from(burst.max(1)) * MICRO;
        Self { per_second: u64::from(per_second.max(1)), burst_micro, micro: burst_micro, updated: now }
    }

    /// Takes a token, or says how long until there is one.
    pub(crate) fn take(&mut self, now: Timestamp) -> Result<(), Duration> {
        let elapsed = now.duration_since(self.updated).as_micros().max(0);
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        // Tokens a second are millionths of a token a microsecond.
        self.micro = self.micro.saturating_add(elapsed.saturating_mul(self.per_second)).min(self.burst_micro);
        self.updated = now;
        if self.micro >= MICRO {
            self.micro -= MICRO;
            return Ok(());
        }
        Err(Duration::from_micros((MICRO - self.micro).div_ceil(self.per_second)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate() {
        let start = Timestamp::UNIX_EPOCH;
        let mut bucket = Bucket::new(50, 3, start);
        for _ in 0..3 {
            assert_eq!(bucket.take(start), Ok(()));
        }
        assert_eq!(bucket.take(start), Err(Duration::from_millis(20)));
        let later = start + Duration::from_millis(20);
        assert_eq!(bucket.take(later), Ok(()));
        assert!(bucket.take(later).is_err());
    }

    #[test]
    fn a_long_rest_fills_no_more_than_the_burst() {
        let mut bucket = Bucket::new(50, 2, Timestamp::UNIX_EPOCH);
        let later = Timestamp::UNIX_EPOCH + Duration::from_secs(3600);
        assert_eq!(bucket.take(later), Ok(()));
        assert_eq!(bucket.take(later), Ok(()));
        assert!(bucket.take(later).is_err());
    }
}
