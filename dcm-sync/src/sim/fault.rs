//! What goes wrong between the engine and a simulated cluster: switches for tests that say when, and chances for
//! tests that only give a seed.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use dcm_core::port::cluster::Error;

use super::Seeded;
use super::request::Verb;

/// How a cluster is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Link {
    /// As it should be.
    #[default]
    Up,
    /// Connections are refused, and open ones break.
    Cut,
    /// Nothing arrives and nothing comes back: calls end with their time limit, watches are silent.
    Hang,
    /// Everything takes this much longer, each way.
    Delay(Duration),
    /// Requests arrive, but their connections break before the answer; so do watches.
    Reset,
}

/// Chances in a thousand that a request, or for [`Faults::watch_broken`] a change, meets this fault. One request meets
/// at most one; chances beyond a thousand in all never happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Faults {
    /// It never arrives; the caller sees [`Error::Unreachable`].
    pub lost_request: u16,
    /// It happens, but the caller sees [`Error::Unreachable`].
    pub lost_reply: u16,
    /// It arrives twice; the first answer comes back. Token requests never do: a second token is no second try.
    pub duplicated: u16,
    /// It arrives later by up to [`Faults::delay_max`], even when the caller has given up by then.
    pub delayed: u16,
    /// The longest delay.
    pub delay_max: Duration,
    /// It is answered with 401.
    pub unauthorized: u16,
    /// It is answered with 403.
    pub forbidden: u16,
    /// What is to be made is answered with 404, as by an API server that has not heard of its namespace yet.
    pub not_found: u16,
    /// A write to an object that is there is answered with 409.
    pub conflict: u16,
    /// A write is answered with 422, as by a policy that somebody tries out.
    pub invalid: u16,
    /// It is answered with 429.
    pub too_many_requests: u16,
    /// How long the server asks to wait with its 429.
    pub retry_after: Duration,
    /// It is answered with 500; every second one happened all the same.
    pub server_error: u16,
    /// A watch ends instead of telling a change.
    pub watch_broken: u16,
    /// A watch ends with 410 instead of telling a change.
    pub watch_gone: u16,
    /// The longest time by which watches are late: what they tell is as old as that.
    pub watch_lag_max: Duration,
}

/// What one request meets.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    None,
    LostRequest,
    LostReply,
    Duplicated,
    Delayed(Duration),
    /// Answered so, and not done.
    Refused(Error),
    /// Done, and answered so.
    Failed(Error),
}

/// What the server says with an error.
const MESSAGE: &str = "injected fault";

impl Default for Faults {
    fn default() -> Self {
        Self::NONE
    }
}

impl Faults {
    /// No fault at all.
    pub const NONE: Self = Self {
        lost_request: 0,
        lost_reply: 0,
        duplicated: 0,
        delayed: 0,
        delay_max: Duration::ZERO,
        unauthorized: 0,
        forbidden: 0,
        not_found: 0,
        conflict: 0,
        invalid: 0,
        too_many_requests: 0,
        retry_after: Duration::from_secs(1),
        server_error: 0,
        watch_broken: 0,
        watch_gone: 0,
        watch_lag_max: Duration::ZERO,
    };

    /// What the next request meets.
    pub(super) fn draw(&self, verb: Verb, random: &Seeded) -> Fault {
        if *self == Self::NONE {
            return Fault::None;
        }
        match self.draw_any(random) {
            Fault::Duplicated if verb == Verb::IssueToken => Fault::None,
            Fault::Refused(error) if !may_meet(verb, &error) => Fault::None,
            fault => fault,
        }
    }

    fn draw_any(&self, random: &Seeded) -> Fault {
        let message = || MESSAGE.into();
        let failure = Error::Server { code: 500, message: message() };
        let failed = if random.below(2) == 0 { Fault::Refused } else { Fault::Failed };
        let table = [
            (self.lost_request, Fault::LostRequest),
            (self.lost_reply, Fault::LostReply),
            (self.duplicated, Fault::Duplicated),
            (self.delayed, Fault::Delayed(share(self.delay_max, random))),
            (self.unauthorized, Fault::Refused(Error::Unauthorized { message: message() })),
            (self.forbidden, Fault::Refused(Error::Forbidden { message: message() })),
            (self.conflict, Fault::Refused(Error::Conflict)),
            (
                self.too_many_requests,
                Fault::Refused(Error::TooManyRequests { retry_after: Some(self.retry_after) }),
            ),
            (self.server_error, failed(failure)),
            (self.not_found, Fault::Refused(Error::NotFound)),
            (self.invalid, Fault::Refused(Error::Invalid { message: message() })),
        ];
        let mut number = random.below(1000);
        for (chance, fault) in table {
            match number.checked_sub(u64::from(chance)) {
                Some(rest) => number = rest,
                None => return fault,
            }
        }
        Fault::None
    }

    /// True when a watch breaks now.
    pub(super) fn breaks_watch(&self, random: &Seeded) -> bool {
        hits(self.watch_broken, random)
    }

    /// True when a watch learns now that it is too far behind.
    pub(super) fn outruns_watch(&self, random: &Seeded) -> bool {
        hits(self.watch_gone, random)
    }
}

/// True when a server answers a request so.
fn may_meet(verb: Verb, error: &Error) -> bool {
    match error {
        Error::Conflict => {
            matches!(verb, Verb::Update | Verb::Release | Verb::SetPart | Verb::Delete | Verb::Approve)
        }
        Error::NotFound => matches!(verb, Verb::Create | Verb::IssueToken),
        Error::Invalid { .. } => {
            matches!(verb, Verb::Create | Verb::Update | Verb::Release | Verb::SetPart | Verb::Approve)
        }
        // Rights are looked at after the credential.
        Error::Forbidden { .. } => verb != Verb::TryCredential,
        _ => true,
    }
}

/// True when something of a chance in a thousand happens now.
fn hits(chance: u16, random: &Seeded) -> bool {
    chance > 0 && random.below(1000) < u64::from(chance)
}

/// A part of a duration, in whole microseconds.
pub(crate) fn share(duration: Duration, random: &Seeded) -> Duration {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(random.below(micros.saturating_add(1)))
}

/// Why a call did not come through.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("simulated: {0}")]
pub(super) struct Broken(pub(super) &'static str);

/// The error of a call that did not come through.
pub(super) fn unreachable(what: &'static str) -> Error {
    Error::Unreachable { source: std::sync::Arc::new(Broken(what)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_of_a_thousand_always_hits_and_none_never() {
        let random = Seeded::new(1);
        let always = Faults { lost_reply: 1000, ..Faults::NONE };
        assert!((0..100).all(|_| matches!(always.draw(Verb::Get, &random), Fault::LostReply)));
        assert!((0..100).all(|_| matches!(Faults::NONE.draw(Verb::Get, &random), Fault::None)));
    }

    #[test]
    fn a_seed_repeats_its_faults() {
        let faults = Faults { lost_request: 300, server_error: 300, ..Faults::NONE };
        let draw = |seed| {
            let random = Seeded::new(seed);
            (0..50).map(|_| format!("{:?}", faults.draw(Verb::Create, &random))).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_request_is_answered_only_as_its_verb_can_be() {
        let random = Seeded::new(1);
        let conflict = Faults { conflict: 1000, ..Faults::NONE };
        assert!(matches!(conflict.draw(Verb::Create, &random), Fault::None));
        assert!(matches!(conflict.draw(Verb::Update, &random), Fault::Refused(Error::Conflict)));
        let not_found = Faults { not_found: 1000, ..Faults::NONE };
        assert!(matches!(not_found.draw(Verb::Delete, &random), Fault::None));
        assert!(matches!(not_found.draw(Verb::Create, &random), Fault::Refused(Error::NotFound)));
        let invalid = Faults { invalid: 1000, ..Faults::NONE };
        assert!(matches!(invalid.draw(Verb::Delete, &random), Fault::None));
        assert!(matches!(invalid.draw(Verb::Update, &random), Fault::Refused(Error::Invalid { .. })));
    }
}
