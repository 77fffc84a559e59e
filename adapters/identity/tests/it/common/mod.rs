//! What several tests need.

pub(crate) mod authority;
pub(crate) mod served;
pub(crate) mod web;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use dcm_core::port::clock::Clock;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

/// The time at which it was made, and what a test has added: no test depends on how fast its machine is.
pub(crate) struct TestClock {
    made: Timestamp,
    ahead: AtomicI64,
}

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { made: Timestamp::now(), ahead: AtomicI64::new(0) })
    }

    pub(crate) fn advance(&self, by: SignedDuration) {
        self.ahead.fetch_add(by.as_secs(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.made + SignedDuration::from_secs(self.ahead.load(Ordering::SeqCst))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
