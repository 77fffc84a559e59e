//! Randomness that one number repeats.

use std::sync::atomic::{AtomicU64, Ordering};

use dcm_core::port::clock::Random;

/// The step of splitmix64: odd, with bits spread evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A splitmix64 generator: small, quick, and the same for the same seed. Not for keys.
#[derive(Debug)]
pub struct Seeded(AtomicU64);

impl Seeded {
    /// Begins at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Begins at a seed of its own for a name, so that what one cluster draws does not depend on the others.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        Self::new(name.bytes().fold(seed, |state, byte| mixed(state ^ u64::from(byte))))
    }

    /// A number below `bound`; 0 when the bound is 0.
    #[must_use]
    pub fn below(&self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// A text in the form of a UUID.
    pub(super) fn uid(&self) -> String {
        let (high, low) = (self.next(), self.next());
        let head = format!("{:08x}-{:04x}-{:04x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff);
        format!("{head}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
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
        let draw = |seeded: &Seeded| (seeded.next(), seeded.uid());
        assert_eq!(draw(&Seeded::named(7, "a")), draw(&Seeded::named(7, "a")));
        assert_ne!(draw(&Seeded::named(7, "a")), draw(&Seeded::named(7, "b")));
        assert_ne!(draw(&Seeded::named(7, "a")), draw(&Seeded::named(8, "a")));
        assert_eq!(Seeded::new(1).uid().len(), 36);
    }

    #[test]
    fn a_bound_of_nothing_gives_nothing() {
        assert_eq!(Seeded::new(1).below(0), 0);
        assert!((0..100).all(|seed| Seeded::new(seed).below(3) < 3));
    }
}
