//! Tokens that have proved who asks a short while ago.
//!
//! They are no guesses: where tokens from a place have to wait, these do not, so that nobody who shares an address with others is shut out by
//! them. Each is checked in full all the same, whenever it is shown.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// How long a token is known after it was shown: longer than a program pauses that asks again and again.
const KNOWN_FOR: SignedDuration = SignedDuration::from_hours(1);

/// How many tokens are known at most. Others wait as any that nobody knows.
const TOKENS_MAX: usize = 10_000;

/// The tokens: of each a hash with a key that nobody else has. Whose hash is another's skips a wait, and no more.
#[derive(Debug, Default)]
pub(super) struct Proved {
    key: RandomState,
    /// Until when each is known.
    known: Mutex<BTreeMap<u64, Timestamp>>,
}

impl Proved {
    pub(super) fn is_known(&self, token: &str, now: Timestamp) -> bool {
        self.known().get(&self.key.hash_one(token)).is_some_and(|until| *until > now)
    }

    pub(super) fn remember(&self, token: &str, now: Timestamp) {
        let hash = self.key.hash_one(token);
        let mut known = self.known();
        if known.len() >= TOKENS_MAX && !known.contains_key(&hash) {
            known.retain(|_, until| *until > now);
        }
        if (known.len() < TOKENS_MAX || known.contains_key(&hash))
            && let Ok(until) = now.checked_add(KNOWN_FOR)
        {
            known.insert(hash, until);
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<u64, Timestamp>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_for_an_hour_after_it_was_shown() {
        let proved = Proved::default();
        let now = Timestamp::UNIX_EPOCH;
        assert!(!proved.is_known("a.b.c", now));
        proved.remember("a.b.c", now);
        assert!(proved.is_known("a.b.c", now) && !proved.is_known("a.b.d", now));
        assert!(!proved.is_known("a.b.c", now + KNOWN_FOR));
    }

    #[test]
    fn so_many_tokens_are_known_and_no_more() {
        let proved = Proved::default();
        let now = Timestamp::UNIX_EPOCH;
        (0..=TOKENS_MAX).for_each(|number| proved.remember(&number.to_string(), now));
        assert_eq!(proved.known().len(), TOKENS_MAX);
        proved.remember("later", now + KNOWN_FOR);
        assert!(proved.is_known("later", now + KNOWN_FOR) && proved.known().len() == 1);
    }
}
