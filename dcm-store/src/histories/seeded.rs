//! Randomness that one number repeats.

use dcm_core::port::clock::{self, Random as _};

/// A row of numbers: the same for the same seed.
#[derive(Debug)]
pub struct Seeded(clock::Seeded);

impl Seeded {
    /// Begins at a seed, with a row of its own for each number.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        let of_seed = clock::Seeded::new(seed);
        let of_number = clock::Seeded::new(of_seed.next() ^ number);
        Self(clock::Seeded::new(of_number.next()))
    }

    /// The next number below `bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these; none when there are none.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let place = self.below(all.len() as u64);
        all.get(usize::try_from(place).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_numbers_differ() {
        let draw = |seed, number| {
            let mut seeded = Seeded::new(seed, number);
            [seeded.below(u64::MAX), seeded.below(u64::MAX)]
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert!(draw(7, 1) != draw(7, 2) && draw(7, 1) != draw(8, 1));
    }

    #[test]
    fn of_nothing_nothing_is_picked() {
        let mut seeded = Seeded::new(1, 1);
        assert_eq!(seeded.below(0), 0);
        assert_eq!(seeded.pick::<u8>(&[]), None);
        assert!((0..100).all(|_| seeded.pick(&[1, 2, 3]).is_some()));
    }
}
