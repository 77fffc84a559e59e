//! Time that goes on only when everybody waits.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use dcm_core::port::clock::Clock;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

/// A clock that stands still until it is told to go on. Cheap to clone.
#[derive(Clone)]
pub struct VirtualClock {
    state: Arc<Mutex<State>>,
}

struct State {
    now: Timestamp,
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    sleeps: u64,
}

impl VirtualClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn starting_at(now: Timestamp) -> Self {
        Self { state: Arc::new(Mutex::new(State { now, sleepers: BTreeMap::new(), sleeps: 0 })) }
    }

    /// No code of others runs under the lock, so what a panic leaves is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the next sleeper wakes.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.lock().sleepers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Goes on to a time, and wakes who slept until then. A time before the present one changes nothing.
    pub fn advance_to(&self, time: Timestamp) {
        let woken = {
            let mut state = self.lock();
            state.now = state.now.max(time);
            let now = state.now;
            let later = state.sleepers.split_off(&(now, u64::MAX));
            std::mem::replace(&mut state.sleepers, later)
        };
        woken.into_values().for_each(Waker::wake);
    }

    /// The same time as another clock shows it that is wrong.
    #[must_use]
    pub fn skewed(&self, skew: Skew) -> Arc<dyn Clock> {
        Arc::new(Skewed { clock: self.clone(), began: self.now(), skew })
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut state = self.lock();
        let at = state.now.checked_add(duration).unwrap_or(Timestamp::MAX);
        state.sleeps += 1;
        let key = (at, state.sleeps);
        drop(state);
        Sleep { clock: self.clone(), key }.boxed()
    }
}

/// One sleep, by its end and its number.
struct Sleep {
    clock: VirtualClock,
    key: (Timestamp, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.lock();
        if state.now >= self.key.0 {
            return Poll::Ready(());
        }
        state.sleepers.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.lock().sleepers.remove(&self.key);
    }
}

/// How wrong a clock is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skew {
    /// It is ahead by so many seconds; behind, when negative.
    pub ahead_seconds: i64,
    /// It gains so many millionths of the time; loses, when negative.
    pub drift_ppm: i32,
}

struct Skewed {
    clock: VirtualClock,
    began: Timestamp,
    skew: Skew,
}

/// Millionths in a whole.
const MILLION: i128 = 1_000_000;

impl Skewed {
    /// Millionths of its second in a true one.
    fn rate(&self) -> i128 {
        MILLION + i128::from(self.skew.drift_ppm)
    }
}

fn signed_micros(micros: i128) -> SignedDuration {
    SignedDuration::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        let elapsed = self.clock.now().duration_since(self.began).as_micros();
        let shown = signed_micros(elapsed * self.rate() / MILLION);
        let ahead = SignedDuration::from_secs(self.skew.ahead_seconds);
        self.began.checked_add(shown + ahead).unwrap_or(Timestamp::MAX)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let micros = i128::try_from(duration.as_micros()).unwrap_or(i128::MAX / MILLION);
        // Rounded up, and one more for what its own `now` rounds down.
        let true_micros = (micros * MILLION + self.rate() - 1) / self.rate() + 1;
        self.clock.sleep(Duration::from_micros(u64::try_from(true_micros).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> VirtualClock {
        VirtualClock::starting_at(Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_sleep_ends_when_its_time_has_come_and_not_before() {
        let clock = clock();
        let mut sleep = clock.sleep(Duration::from_secs(5));
        let mut context = Context::from_waker(Waker::noop());
        assert!(sleep.poll_unpin(&mut context).is_pending());
        let end = Timestamp::UNIX_EPOCH + Duration::from_secs(5);
        assert_eq!(clock.next_wake(), Some(end));
        clock.advance_to(end - Duration::from_micros(1));
        assert!(sleep.poll_unpin(&mut context).is_pending());
        clock.advance_to(end);
        assert!(sleep.poll_unpin(&mut context).is_ready());
    }

    #[test]
    fn who_stops_waiting_is_not_waited_for() {
        let clock = clock();
        let mut sleep = clock.sleep(Duration::from_secs(5));
        assert!(sleep.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(sleep);
        assert_eq!(clock.next_wake(), None);
    }

    #[test]
    fn a_sleep_by_a_wrong_clock_is_long_enough_by_that_clock() {
        for drift_ppm in [-50_000, -3, 0, 7, 50_000] {
            let clock = clock();
            let wrong = clock.skewed(Skew { ahead_seconds: -90, drift_ppm });
            let (began, wait) = (wrong.now(), Duration::from_millis(3333));
            let mut sleep = wrong.sleep(wait);
            assert!(sleep.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
            clock.advance_to(clock.next_wake().unwrap());
            assert!(wrong.now() >= began + wait, "{drift_ppm}: {} for {wait:?}", wrong.now() - began);
        }
    }
}
