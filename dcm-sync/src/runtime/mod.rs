//! The engine's ports on tokio and the operating system.

mod suspension;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::threads::Threads;
use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;
use tokio::runtime::Handle;

use suspension::{OsClocks, Suspension};

/// Time from the operating system when it is made, and from tokio's clock from then on: it never goes back, and a
/// paused runtime makes it virtual. On Linux it goes on while the machine is suspended, though a wait that is under way
/// then ends later by that time; elsewhere it stands still.
#[derive(Debug)]
pub struct TokioClock {
    wall: Timestamp,
    started: tokio::time::Instant,
    suspension: Suspension,
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
        Self::with(wall, Suspension::since_now(Box::new(OsClocks)))
    }

    fn with(wall: Timestamp, suspension: Suspension) -> Self {
        let started = tokio::time::Instant::now();
        Self { wall, started, suspension, latest_micros: AtomicI64::new(i64::MIN) }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let now = self.wall + self.started.elapsed() + self.suspension.total();
        let latest = self.latest_micros.fetch_max(now.as_microsecond(), Ordering::Relaxed);
        Timestamp::from_microsecond(latest.max(now.as_microsecond())).unwrap_or(now)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// Threads of a tokio runtime: its blocking ones for work that takes long, the others for futures.
#[derive(Debug, Clone)]
pub struct TokioThreads(Handle);

impl TokioThreads {
    /// Those of the current runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn new() -> Self {
        Self(Handle::current())
    }
}

impl Default for TokioThreads {
    fn default() -> Self {
        Self::new()
    }
}

impl Threads for TokioThreads {
    fn compute(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        // Who waits sees that the work panicked by what it did not leave.
        self.0.spawn_blocking(work).map(drop).boxed()
    }

    fn run(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        self.0.spawn(task).map(drop).boxed()
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

#[cfg(test)]
mod tests {
    use super::suspension::tests::Told;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_the_machine_was_suspended_has_passed() {
        let clocks = Told::default();
        let suspension = Suspension::since_now(Box::new(clocks.clone()));
        let clock = TokioClock::with(Timestamp::UNIX_EPOCH, suspension);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(clock.now().as_second(), 5);
        clocks.suspend(Duration::from_secs(601));
        let woken = clock.now();
        assert_eq!(woken.as_second(), 605, "a little less is told than 606");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(clock.now().duration_since(woken).as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn virtual_time_passes_exactly() {
        let clock = TokioClock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH + Duration::from_secs(5));
    }
}
