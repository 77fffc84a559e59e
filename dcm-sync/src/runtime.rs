//! The engine's ports on tokio and the operating system.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use dcm_core::port::clock::{Clock, Random};
use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;

/// Time from the operating system when it is made, and from tokio's clock from then on: it never goes back, and a
/// paused runtime makes it virtual.
#[derive(Debug)]
pub struct TokioClock {
    wall: Timestamp,
    started: tokio::time::Instant,
    latest_micros: AtomicI64,
}

impl TokioClock {
    /// A clock that starts at the operating system's time. Must be called on a tokio runtime.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// A clock that starts at a given time. Must be called on a tokio runtime.
    #[must_use]
    pub fn starting_at(wall: Timestamp) -> Self {
        Self { wall, started: tokio::time::Instant::now(), latest_micros: AtomicI64::new(i64::MIN) }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let now = self.wall + self.started.elapsed();
        let latest = self.latest_micros.fetch_max(now.as_microsecond(), Ordering::Relaxed);
        Timestamp::from_microsecond(latest.max(now.as_microsecond())).unwrap_or(now)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// Randomness of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct OsRandom;

impl Random for OsRandom {
    fn next(&self) -> u64 {
        // Without randomness two workers could take each other's name: nothing can go on then.
        getrandom::u64().unwrap_or_else(|error| panic!("the operating system gives no randomness: {error}"))
    }
}
