//! How long what a cluster issued is good, and when it is to be renewed.

use jiff::{SignedDuration, Timestamp};

use crate::pki::renewal::{RENEWAL, part};

/// By at most this part of a life a renewal is put off, so that credentials made together are not renewed together.
const DELAY: (i32, i32) = (1, 12);

/// Delays are counted in this many steps.
pub(super) const DELAY_STEPS: u16 = 1000;

/// What is left of a life when its end is warned of: by then a renewal was tried for as long again in vain.
const WARNING: (i32, i32) = (1, 6);

/// How long what a cluster issued is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    /// When it begins, where it says so. Clusters date it back by some minutes.
    pub(super) not_before: Option<Timestamp>,
    /// When it was received.
    pub(super) received: Option<Timestamp>,
    /// When it ends.
    pub(super) not_after: Timestamp,
}

impl Validity {
    /// When it is to be renewed, put off by so many of [`DELAY_STEPS`]. What does not tell when it began is renewed at
    /// once.
    pub(super) fn renewal(&self, delay: u16) -> Timestamp {
        let Some((begin, life)) = self.life() else { return Timestamp::MIN };
        let delay = part(life, DELAY) * i32::from(delay.min(DELAY_STEPS)) / i32::from(DELAY_STEPS);
        begin.saturating_add(part(life, RENEWAL) + delay).unwrap_or(Timestamp::MAX)
    }

    /// From when on its end is warned of.
    pub(super) fn warning(&self) -> Timestamp {
        let left = self.life().map(|(_, life)| part(life, WARNING)).unwrap_or_default();
        self.not_after.saturating_sub(left).unwrap_or(Timestamp::MIN)
    }

    /// How long it lives in all; none when it does not tell when it began.
    pub(super) fn length(&self) -> Option<SignedDuration> {
        self.life().map(|(_, life)| life)
    }

    fn life(&self) -> Option<(Timestamp, SignedDuration)> {
        let begin = self.received.or(self.not_before)?;
        let life = self.not_after.duration_since(begin);
        life.is_positive().then_some((begin, life))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_renewal_begins_at_two_thirds_of_the_time_from_receipt_to_the_end() {
        let validity = Validity { not_before: Some(at(-300)), received: Some(at(0)), not_after: at(600) };
        assert_eq!(validity.renewal(0), at(400));
        assert_eq!(validity.renewal(DELAY_STEPS), at(450), "it is put off by a twelfth at most");
        assert_eq!(validity.warning(), at(500));
        let unknown_receipt = Validity { received: None, ..validity };
        assert_eq!(unknown_receipt.renewal(0), at(300), "then it is counted from the beginning");
    }

    #[test]
    fn what_does_not_say_when_it_began_or_ends_before_is_renewed_at_once() {
        let token = Validity { not_before: None, received: None, not_after: at(600) };
        assert_eq!(token.renewal(DELAY_STEPS), Timestamp::MIN);
        let backwards = Validity { received: Some(at(700)), ..token };
        assert_eq!(backwards.renewal(0), Timestamp::MIN);
        assert_eq!(backwards.warning(), at(600));
    }
}
