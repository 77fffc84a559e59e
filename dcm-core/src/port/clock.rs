//! Time, waiting and randomness.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

/// Time and waiting.
///
/// # Contract
/// - `now` never goes back during the life of the value.
/// - `sleep` is done no earlier than its duration after the call, measured by `now`.
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// Randomness for identities and jitter. Not for keys: those come from a key source.
pub trait Random: Send + Sync + 'static {
    /// 64 random bits.
    fn next(&self) -> u64;
}
