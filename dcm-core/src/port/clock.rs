//! Time, waiting and randomness.

use std::sync::atomic::{AtomicU64, Ordering};
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

/// Randomness for identities, jitter and the key of an installation's proofs. Not for keys of users: those come from a key
/// source.
pub trait Random: Send + Sync + 'static {
    /// 64 random bits.
    fn next(&self) -> u64;
}

/// The step of SplitMix64: odd, with bits spread evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Randomness that one number repeats (SplitMix64): small, quick, and the same for the same seed.
#[derive(Debug)]
pub struct Seeded(AtomicU64);

impl Seeded {
    /// Begins at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Begins at a seed of its own for a name, so that what one thing draws does not depend on the others.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        Self::new(name.bytes().fold(seed, |state, byte| mixed(state ^ u64::from(byte))))
    }

    /// A number below `bound`; 0 when the bound is 0.
    #[must_use]
    pub fn below(&self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }
}

impl Random for Seeded {
    fn next(&self) -> u64 {
        mixed(self.0.fetch_add(STEP, Ordering::Relaxed))
    }
}

fn mixed(state: u64) -> u64 {
    let mut bits = state.wrapping_add(STEP);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_names_differ() {
        let draw = |seeded: &Seeded| (seeded.next(), seeded.next());
        assert_eq!(draw(&Seeded::named(7, "a")), draw(&Seeded::named(7, "a")));
        assert_ne!(draw(&Seeded::named(7, "a")), draw(&Seeded::named(7, "b")));
        assert_ne!(draw(&Seeded::named(7, "a")), draw(&Seeded::named(8, "a")));
    }

    #[test]
    fn a_bound_of_nothing_gives_nothing() {
        assert_eq!(Seeded::new(1).below(0), 0);
        assert!((0..100).all(|seed| Seeded::new(seed).below(3) < 3));
    }
}
