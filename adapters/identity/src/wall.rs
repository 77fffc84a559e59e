//! The time by which proofs are judged.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use dcm_core::port::clock::Clock;
use futures::future::BoxFuture;
use jiff::Timestamp;

/// A clock for what expires, beside one for intervals.
///
/// One for intervals is set once, when it is made, so that nothing that is waited for is late or early when somebody sets the time. A machine that
/// begins to serve before it knows the time, or goes on from a copy of its memory, would take what has expired by it for as long as the process lives.
/// This one follows the machine's time whenever that is ahead of it. It does not follow it back: what has expired does not become good again.
pub struct WallClock {
    intervals: Arc<dyn Clock>,
    system: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// How far it is ahead of the other one.
    ahead_micros: AtomicI64,
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WallClock").field("ahead_micros", &self.ahead_micros).finish_non_exhaustive()
    }
}

impl WallClock {
    /// A clock that follows the machine's time, and waits by another one.
    #[must_use]
    pub fn over(intervals: Arc<dyn Clock>) -> Self {
        Self::following(intervals, Timestamp::now)
    }

    /// One that follows another time than the machine's.
    #[must_use]
    pub fn following(
        intervals: Arc<dyn Clock>,
        system: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self { intervals, system: Box::new(system), ahead_micros: AtomicI64::new(0) }
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let now = self.intervals.now();
        let ahead = (self.system)().as_microsecond() - now.as_microsecond();
        let ahead = self.ahead_micros.fetch_max(ahead, Ordering::Relaxed).max(ahead);
        Timestamp::from_microsecond(now.as_microsecond().saturating_add(ahead)).unwrap_or(Timestamp::MAX)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.intervals.sleep(duration)
    }
}

#[cfg(test)]
mod tests {
    use futures::future::FutureExt as _;
    use jiff::SignedDuration;

    use super::*;
    use crate::settings::Tokens;
    use crate::tokens::{self, New, RANDOM_BYTES, TokenFile};
    use crate::{Authenticator, Refused, Settings, Unproved};

    /// A clock for intervals, none of which passes.
    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
            futures::future::pending().boxed()
        }
    }

    /// A clock, and the machine's time in seconds.
    fn following() -> (WallClock, Arc<AtomicI64>) {
        let system = Arc::new(AtomicI64::new(0));
        let read = system.clone();
        let now = move || Timestamp::from_second(read.load(Ordering::Relaxed)).unwrap();
        (WallClock::following(Arc::new(Still), now), system)
    }

    #[test]
    fn it_follows_the_machine_ahead_and_never_back() {
        let (clock, system) = following();
        let seconds = [0, 50, 7, 51, -1].map(|second| {
            system.store(second, Ordering::Relaxed);
            clock.now().as_second()
        });
        assert_eq!(seconds, [0, 50, 50, 51, 51]);
    }

    #[tokio::test]
    async fn a_token_that_has_expired_by_the_machines_time_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.yaml");
        let until = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        let new = New {
            name: "ci".to_owned(),
            user: "robot".to_owned(),
            groups: Default::default(),
            until: Some(until),
        };
        let made = tokens::make(new, &[7; RANDOM_BYTES]).unwrap();
        std::fs::write(&file, TokenFile { tokens: vec![made.entry] }.to_yaml()).unwrap();
        let settings = Settings { tokens: Some(Tokens { file }), ..Settings::default() };
        let (clock, system) = following();
        let authenticator = Authenticator::open(&settings, Arc::new(clock)).unwrap();
        assert!(authenticator.bearer(made.token.expose()).await.is_ok());
        system.store(2 * 3600, Ordering::Relaxed);
        let refused = authenticator.bearer(made.token.expose()).await.unwrap_err();
        assert!(matches!(refused, Unproved::Refused(Refused::Expired(at)) if at == until), "{refused:?}");
    }
}
