//! The server's clock, which is not asked each time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dcm_core::port::store::Error;
use mongodb::bson::Timestamp;
use tokio::time::Instant;

use super::failure::unavailable;
use super::server::Server;

/// How often the server is asked for its time.
const INTERVAL: Duration = Duration::from_secs(10);

/// How far the server's clock may be behind the time that has passed. Members of a replica set see to it that none gives an earlier
/// time than another did.
const BEHIND_MAX: Duration = Duration::from_secs(2);

/// The server's time at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    time: SystemTime,
    asked: Instant,
}

impl Clock {
    /// Asks for the time.
    pub(super) async fn set(server: &Server) -> Result<Self, Error> {
        Ok(Self::at(server.time().await?))
    }

    /// The server's time is this, or later by the time that the answer took.
    pub(super) fn at(time: SystemTime) -> Self {
        Self { time, asked: Instant::now() }
    }

    /// The server's time now, as far as it is known.
    pub(super) fn now(&self) -> SystemTime {
        self.time + self.asked.elapsed()
    }

    /// The server's time now, which it is asked for now and then.
    ///
    /// # Errors
    /// When the clock was set back: what was written since may have earlier times than anybody looks for.
    pub(super) async fn checked(&mut self, server: &Server) -> Result<SystemTime, Error> {
        if self.asked.elapsed() >= INTERVAL {
            let now = Self::set(server).await?;
            if !self.is_followed_by(&now) {
                return Err(unavailable("its clock was set back"));
            }
            *self = now;
        }
        Ok(self.now())
    }

    fn is_followed_by(&self, now: &Self) -> bool {
        let passed = now.asked.saturating_duration_since(self.asked);
        now.time + BEHIND_MAX >= self.time + passed
    }
}

/// The earliest that is put on a record so long before a time.
pub(super) fn before(time: SystemTime, window: Duration) -> Timestamp {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(window).as_secs();
    Timestamp { time: u32::try_from(seconds).unwrap_or(u32::MAX), increment: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_is_seen_and_one_that_only_drifts_is_not() {
        let asked = Instant::now();
        let first = Clock { time: UNIX_EPOCH + Duration::from_secs(1000), asked };
        let after = |time| Clock {
            time: UNIX_EPOCH + Duration::from_secs(time),
            asked: asked + Duration::from_secs(10),
        };
        assert!(first.is_followed_by(&after(1010)) && first.is_followed_by(&after(1009)));
        assert!(first.is_followed_by(&after(9999)));
        assert!(!first.is_followed_by(&after(1007)) && !first.is_followed_by(&after(10)));
    }

    #[test]
    fn the_window_ends_before_the_time() {
        let time = UNIX_EPOCH + Duration::from_millis(100_900);
        assert_eq!(before(time, Duration::from_secs(5)), Timestamp { time: 95, increment: 0 });
        assert_eq!(before(UNIX_EPOCH, Duration::from_secs(5)), Timestamp { time: 0, increment: 0 });
    }
}
