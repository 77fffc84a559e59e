//! How long the machine was suspended.
//!
//! tokio counts the time in which the machine runs. A lease goes on while a laptop sleeps or a virtual machine is
//! stopped: somebody else may own the clusters when it wakes up.

use std::fmt::Debug;
use std::time::Duration;

use jiff::SignedDuration;

/// The two clocks of an operating system that differ by its suspensions, each from a start of its own.
pub(super) trait Clocks: Debug + Send + Sync {
    /// Counts only while the machine runs.
    fn running(&self) -> Duration;

    /// Counts always.
    fn always(&self) -> Duration;
}

/// Counts suspensions from when it is made.
#[derive(Debug)]
pub(super) struct Suspension {
    clocks: Box<dyn Clocks>,
    /// How far the clocks were apart at most then. Each has a start of its own, in a container too.
    apart: SignedDuration,
}

impl Suspension {
    pub(super) fn since_now(clocks: Box<dyn Clocks>) -> Self {
        let running = clocks.running();
        let apart = between(running, clocks.always());
        Self { clocks, apart }
    }

    /// The time of all suspensions, or a little less: some time passes between the readings of two clocks. They are read
    /// in the other order than at the start, so that without a suspension this is exactly nothing.
    pub(super) fn total(&self) -> Duration {
        let always = self.clocks.always();
        let apart = between(self.clocks.running(), always);
        apart.saturating_sub(self.apart).try_into().unwrap_or_default()
    }
}

fn between(running: Duration, always: Duration) -> SignedDuration {
    let signed = |time: Duration| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    signed(always).saturating_sub(signed(running))
}

/// The clocks of this operating system. Where we know none that counts suspensions, there are none.
#[derive(Debug)]
pub(super) struct OsClocks;

#[cfg(target_os = "linux")]
impl Clocks for OsClocks {
    fn running(&self) -> Duration {
        read(rustix::time::DynamicClockId::Known(rustix::time::ClockId::Monotonic))
    }

    fn always(&self) -> Duration {
        read(rustix::time::DynamicClockId::Boottime)
    }
}

/// Zero for a clock that is not there, as in some sandboxes.
#[cfg(target_os = "linux")]
fn read(clock: rustix::time::DynamicClockId<'_>) -> Duration {
    let time = rustix::time::clock_gettime_dynamic(clock).ok();
    time.and_then(|time| time.try_into().ok()).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
impl Clocks for OsClocks {
    fn running(&self) -> Duration {
        Duration::ZERO
    }

    fn always(&self) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Clocks that go on by a tick at each reading, and as far as they are told.
    #[derive(Debug, Clone, Default)]
    pub(in crate::runtime) struct Told(Arc<Mutex<(Duration, Duration)>>);

    const TICK: Duration = Duration::from_millis(3);

    impl Told {
        pub(in crate::runtime) fn suspend(&self, time: Duration) {
            self.0.lock().unwrap().1 += time;
        }

        fn tick(&self) -> (Duration, Duration) {
            let mut clocks = self.0.lock().unwrap();
            clocks.0 += TICK;
            clocks.1 += TICK;
            *clocks
        }
    }

    impl Clocks for Told {
        fn running(&self) -> Duration {
            self.tick().0
        }

        fn always(&self) -> Duration {
            self.tick().1
        }
    }

    #[test]
    fn what_passes_between_two_readings_is_no_suspension() {
        let suspension = Suspension::since_now(Box::new(Told::default()));
        assert_eq!(suspension.total(), Duration::ZERO);
        assert_eq!(suspension.total(), Duration::ZERO);
    }

    #[test]
    fn suspensions_before_the_start_do_not_count_and_later_ones_add_up() {
        let clocks = Told::default();
        clocks.0.lock().unwrap().0 = Duration::from_secs(5000);
        clocks.suspend(Duration::from_secs(1000));
        let suspension = Suspension::since_now(Box::new(clocks.clone()));
        assert_eq!(suspension.total(), Duration::ZERO);
        clocks.suspend(Duration::from_secs(60));
        clocks.suspend(Duration::from_secs(30));
        assert_eq!(suspension.total(), Duration::from_secs(90) - TICK * 2);
    }

    #[test]
    fn the_clocks_of_the_operating_system_agree_while_it_runs() {
        let suspension = Suspension::since_now(Box::new(OsClocks));
        assert_eq!(suspension.total(), Duration::ZERO);
        #[cfg(target_os = "linux")]
        assert!(OsClocks.always() > Duration::ZERO && OsClocks.running() > Duration::ZERO);
    }
}
