//! When something with a limited lifetime is renewed.

use jiff::SignedDuration;

/// A renewal begins after this part of a lifetime: a third is left for tries.
pub(crate) const RENEWAL: (i32, i32) = (2, 3);

/// A part of a lifetime: numerator and denominator.
pub(crate) fn part(lifetime: SignedDuration, (numerator, denominator): (i32, i32)) -> SignedDuration {
    lifetime / denominator * numerator
}
