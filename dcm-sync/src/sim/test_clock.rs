//! The clock of this crate's tests: tokio's time, which a test may pause.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::clock::Clock;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::Instant;

/// Begins at the same time in each test.
pub(crate) struct TestClock {
    began: Instant,
}

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now() })
    }

    /// The time at which it begins.
    pub(crate) fn beginning() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Self::beginning() + self.began.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}
