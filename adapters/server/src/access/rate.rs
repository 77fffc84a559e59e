//! How often each caller may ask.
//!
//! Each has a bucket of tokens (an allowance, not a credential): a request takes one, and so many a second come back. A bucket that is full again
//! says nothing any more, and is dropped.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dcm_core::refusal::{Checks, Path};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many requests a second a caller may make, unless the configuration says otherwise.
pub const REQUESTS_PER_SECOND: u32 = 100;

/// How many a caller may make at once after a pause, unless the configuration says otherwise.
pub const REQUESTS_BURST: u32 = 1_000;

/// With how many buckets full ones are looked for and dropped. To look through all of them takes time, so it is done again only when there are
/// twice as many as were left by then, and never with fewer than this.
const BUCKETS_MIN: usize = 10_000;

/// How often each caller may ask: a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rate {
    /// Requests a second, in the long run. Default 100; 0: as many as one likes.
    pub per_second: u32,
    /// Requests at once after a pause. Default 1,000; at least 1.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_second: REQUESTS_PER_SECOND, burst: REQUESTS_BURST }
    }
}

impl Rate {
    pub(super) fn is_unlimited(self) -> bool {
        self.per_second == 0
    }

    pub(super) fn check_at(self, path: &Path, checks: &mut Checks) {
        if self.burst == 0 {
            checks.refuse(&path.field("burst"), "0", "must be 1 or more");
        }
    }

    fn quota(self) -> Option<Quota> {
        let (per_second, burst) = (NonZeroU32::new(self.per_second)?, NonZeroU32::new(self.burst)?);
        Some(Quota::per_second(per_second).allow_burst(burst))
    }
}

/// Counts the requests of each caller.
pub(super) struct Limiter {
    requests: RateLimiter<String, HashMapStateStore<String>, DefaultClock>,
    /// With how many buckets full ones are looked for next.
    buckets_max: AtomicUsize,
}

impl Limiter {
    /// None where there is no limit.
    pub(super) fn new(rate: Rate) -> Option<Self> {
        let requests = RateLimiter::hashmap(rate.quota()?);
        Some(Self { requests, buckets_max: AtomicUsize::new(BUCKETS_MIN) })
    }

    /// Counts a request of a caller. One too many is refused with the time after which the next one is taken.
    pub(super) fn count(&self, caller: &str) -> Result<(), Duration> {
        if self.requests.len() > self.buckets_max.load(Ordering::Relaxed) {
            self.requests.retain_recent();
            self.buckets_max.store(BUCKETS_MIN.max(2 * self.requests.len()), Ordering::Relaxed);
        }
        let counted = self.requests.check_key(&caller.to_owned());
        counted.map_err(|too_many| too_many.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_has_nothing_of_what_another_used() {
        let limiter = Limiter::new(Rate { per_second: 1, burst: 2 }).unwrap();
        assert_eq!([limiter.count("ann"), limiter.count("ann")], [Ok(()), Ok(())]);
        let wait = limiter.count("ann").unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(1), "{wait:?}");
        assert_eq!(limiter.count("bob"), Ok(()));
        assert!(Limiter::new(Rate { per_second: 0, burst: 2 }).is_none());
    }
}
