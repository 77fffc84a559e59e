//! The known keys of an issuer, and when they are fetched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dcm_core::causes;
use dcm_core::port::clock::Clock;
use jiff::Timestamp;
use tokio::sync::Mutex as Turn;

use super::fetch::{FetchError, Fetcher};
use super::keys::KeySet;
use super::{KEYS_AGE_MAX, KEYS_REFRESH_AGE, REFRESH_INTERVAL};
use crate::settings::Issuer;
use crate::tls;

/// The keys of one issuer.
pub(super) struct Keyring {
    issuer: String,
    fetcher: Fetcher,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Whoever fetches has it.
    turn: Turn<()>,
}

/// What is known.
#[derive(Default)]
struct State {
    /// The keys, and when they were fetched.
    keys: Option<(Arc<KeySet>, Timestamp)>,
    /// When the last fetch ended.
    asked: Option<Timestamp>,
    /// How it failed, if it did.
    failure: Option<Arc<FetchError>>,
    /// How many there were.
    fetches: u64,
}

/// What is to be done to have keys.
enum Advice {
    /// These can be used.
    Use(Arc<KeySet>),
    /// These can be used, and it is time for others.
    UseAndFetch(Arc<KeySet>),
    /// There are none, or none that can be used.
    Fetch,
    /// There are none, and it is too early to ask again.
    Fail(Arc<FetchError>),
}

/// Whether there are other keys than those that did not fit.
pub(super) enum Newer {
    /// These.
    Keys(Arc<KeySet>),
    /// The issuer has no others, or was asked just now.
    None,
    /// Nobody knows.
    Failed(Arc<FetchError>),
}

impl State {
    fn advice(&self, now: Timestamp) -> Advice {
        match (&self.keys, &self.failure) {
            (Some((keys, at)), _) if now.duration_since(*at) < KEYS_REFRESH_AGE => {
                Advice::Use(Arc::clone(keys))
            }
            (Some((keys, at)), _) if now.duration_since(*at) < KEYS_AGE_MAX => {
                match self.was_asked_just_now(now) {
                    true => Advice::Use(Arc::clone(keys)),
                    false => Advice::UseAndFetch(Arc::clone(keys)),
                }
            }
            (_, Some(failure)) if self.was_asked_just_now(now) => Advice::Fail(Arc::clone(failure)),
            _ => Advice::Fetch,
        }
    }

    fn was_asked_just_now(&self, now: Timestamp) -> bool {
        self.asked.is_some_and(|asked| now.duration_since(asked) < REFRESH_INTERVAL)
    }

    /// What there is beside keys that did not fit, without asking the issuer; none: it has to be asked.
    fn newer(&self, seen: &Arc<KeySet>, now: Timestamp) -> Option<Newer> {
        match &self.keys {
            Some((keys, _)) if !Arc::ptr_eq(keys, seen) => Some(Newer::Keys(Arc::clone(keys))),
            _ if !self.was_asked_just_now(now) => None,
            _ => {
                Some(self.failure.as_ref().map_or(Newer::None, |failure| Newer::Failed(Arc::clone(failure))))
            }
        }
    }

    fn settle(&mut self, fetched: Result<KeySet, FetchError>, now: Timestamp) {
        self.fetches += 1;
        self.asked = Some(now);
        match fetched {
            Ok(keys) => {
                // The same keys stay the same value: nobody looks twice at what did not fit once.
                let same = self.keys.take().map(|(known, _)| known).filter(|known| **known == keys);
                self.keys = Some((same.unwrap_or_else(|| Arc::new(keys)), now));
                self.failure = None;
            }
            Err(error) => self.failure = Some(Arc::new(error)),
        }
    }
}

impl Keyring {
    pub(super) fn open(issuer: &Issuer, clock: Arc<dyn Clock>) -> Result<Self, tls::Error> {
        let fetcher = Fetcher::open(issuer)?;
        let (state, turn) = (Mutex::default(), Turn::new(()));
        Ok(Self { issuer: issuer.issuer.clone(), fetcher, clock, state, turn })
    }

    /// Keys that can be used.
    pub(super) async fn current(self: &Arc<Self>) -> Result<Arc<KeySet>, Arc<FetchError>> {
        let (advice, fetches) = self.look(State::advice);
        match advice {
            Advice::Use(keys) => return Ok(keys),
            Advice::Fail(failure) => return Err(failure),
            Advice::UseAndFetch(keys) => {
                tokio::spawn(Arc::clone(self).fetch(fetches));
                return Ok(keys);
            }
            Advice::Fetch => self.fetched(fetches).await?,
        }
        match self.look(State::advice).0 {
            Advice::Use(keys) | Advice::UseAndFetch(keys) => Ok(keys),
            Advice::Fail(failure) => Err(failure),
            Advice::Fetch => Err(Arc::new(FetchError::TimedOut)),
        }
    }

    /// Other keys than those that did not fit.
    pub(super) async fn newer(self: &Arc<Self>, seen: &Arc<KeySet>) -> Newer {
        let (newer, fetches) = self.look(|state, now| state.newer(seen, now));
        if let Some(newer) = newer {
            return newer;
        }
        if let Err(failure) = self.fetched(fetches).await {
            return Newer::Failed(failure);
        }
        self.look(|state, now| state.newer(seen, now)).0.unwrap_or(Newer::None)
    }

    /// What the state says now, and how many fetches it knows of.
    fn look<T>(&self, look: impl FnOnce(&State, Timestamp) -> T) -> (T, u64) {
        let now = self.clock.now();
        let state = self.lock();
        (look(&state, now), state.fetches)
    }

    /// Fetches in a task of its own: it goes on when the caller who needed it has gone away.
    async fn fetched(self: &Arc<Self>, fetches: u64) -> Result<(), Arc<FetchError>> {
        let fetch = tokio::spawn(Arc::clone(self).fetch(fetches));
        fetch.await.map_err(|_| Arc::new(FetchError::CutOff))
    }

    /// Fetches the keys, unless somebody has since the caller looked.
    async fn fetch(self: Arc<Self>, fetches: u64) {
        let _turn = self.turn.lock().await;
        if self.lock().fetches != fetches {
            return;
        }
        let fetched = self.fetcher.keys().await;
        if let Err(error) = &fetched {
            tracing::warn!(
                issuer = self.issuer,
                reason = causes::told(error),
                "the keys of an issuer can't be had"
            );
        }
        let now = self.clock.now();
        self.lock().settle(fetched, now);
    }

    /// Nothing panics while it is held.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    fn keys(id: &str) -> KeySet {
        let key = json!({"kty": "EC", "crv": "P-256", "kid": id, "x": "AAAA", "y": "AAAA"});
        KeySet::of(serde_json::from_value(json!({"keys": [key]})).unwrap())
    }

    const BEGINNING: Timestamp = Timestamp::UNIX_EPOCH;

    fn advised(state: &State, after: SignedDuration) -> &'static str {
        match state.advice(BEGINNING + after) {
            Advice::Use(_) => "use",
            Advice::UseAndFetch(_) => "use and fetch",
            Advice::Fetch => "fetch",
            Advice::Fail(_) => "fail",
        }
    }

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn keys_are_fetched_when_they_are_needed_and_again_before_they_are_too_old() {
        let mut state = State::default();
        assert_eq!(advised(&state, seconds(0)), "fetch");
        state.settle(Ok(keys("1")), BEGINNING);
        assert_eq!(advised(&state, seconds(0)), "use");
        assert_eq!(advised(&state, KEYS_REFRESH_AGE - seconds(1)), "use");
        assert_eq!(advised(&state, KEYS_REFRESH_AGE), "use and fetch");
        state.settle(Err(FetchError::TimedOut), BEGINNING + KEYS_REFRESH_AGE);
        assert_eq!(advised(&state, KEYS_REFRESH_AGE + seconds(1)), "use");
        assert_eq!(advised(&state, KEYS_REFRESH_AGE + REFRESH_INTERVAL), "use and fetch");
        assert_eq!(advised(&state, KEYS_AGE_MAX - seconds(1)), "use and fetch");
        assert_eq!(advised(&state, KEYS_AGE_MAX), "fetch");
        state.settle(Err(FetchError::TimedOut), BEGINNING + KEYS_AGE_MAX);
        assert_eq!(advised(&state, KEYS_AGE_MAX + seconds(1)), "fail");
        assert_eq!(advised(&state, KEYS_AGE_MAX + REFRESH_INTERVAL), "fetch");
    }

    #[test]
    fn an_issuer_that_does_not_answer_is_not_asked_all_the_time() {
        let mut state = State::default();
        state.settle(Err(FetchError::TimedOut), BEGINNING);
        assert_eq!(advised(&state, REFRESH_INTERVAL - seconds(1)), "fail");
        assert_eq!(advised(&state, REFRESH_INTERVAL), "fetch");
    }

    #[test]
    fn what_does_not_fit_makes_for_one_fetch_within_the_interval() {
        let mut state = State::default();
        state.settle(Ok(keys("1")), BEGINNING);
        let seen = Arc::clone(&state.keys.as_ref().unwrap().0);
        let late = BEGINNING + REFRESH_INTERVAL;
        assert!(matches!(state.newer(&seen, late - seconds(1)), Some(Newer::None)));
        assert!(state.newer(&seen, late).is_none());
        // The same keys again are none that are newer.
        state.settle(Ok(keys("1")), late);
        assert!(matches!(state.newer(&seen, late), Some(Newer::None)));
        state.settle(Err(FetchError::TimedOut), late);
        assert!(matches!(state.newer(&seen, late), Some(Newer::Failed(_))));
        state.settle(Ok(keys("2")), late);
        assert!(matches!(state.newer(&seen, late), Some(Newer::Keys(_))));
    }
}
