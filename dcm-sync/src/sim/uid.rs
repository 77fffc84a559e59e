//! Identities as an API server gives them.

use dcm_core::port::clock::{Random as _, Seeded};

/// A text in the form of a UUID.
pub(super) fn draw(random: &Seeded) -> String {
    let (high, low) = (random.next(), random.next());
    let head = format!("{:08x}-{:04x}-{:04x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff);
    format!("{head}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_identities() {
        assert_eq!(draw(&Seeded::new(1)), draw(&Seeded::new(1)));
        assert_eq!(draw(&Seeded::new(1)).len(), 36);
    }
}
