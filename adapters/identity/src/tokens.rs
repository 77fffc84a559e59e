//! Static tokens: for programs, and where there is no issuer.
//!
//! A token is `dcm_`, 16 hexadecimal digits that are its id, `_`, and 64 that are its secret: 256 random bits. A file has
//! the SHA-256 of each token and who has it ([`TokenFile`]); the token itself is seen once, when it is made ([`make`]).
//!
//! A slow hash, as for passwords, would gain nothing: it is there to make guessing a bad secret expensive, and among 2²⁵⁶
//! there is nothing to guess. It would cost each request some 100 ms. The entry is found by the id, which is no secret, and the
//! digests are compared in a time that does not tell where they differ.
//!
//! # The file
//! It is read again while it is used, once a second: a token that is taken out of it is refused within that second. A file
//! that is broken, or gone, leaves the tokens that were in it for [`REVOCATION_DELAY_MAX`] after it was last whole: an editor is
//! through with it by then. After that no static token can be checked (503) until the file is whole again. Somebody may have
//! taken a token out of it, and whether that counts must not depend on a comma somewhere else.
//!
//! Whoever can write the file can make themselves anybody: one that others than its owner and its group may write is
//! refused. It may be read by anybody, as nothing in it is secret.

mod file;
mod token;

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;

pub use self::file::{Entry, FILE_TOKENS_MAX, FileError, TokenFile};
use self::file::{Known, Tokens};
pub use self::token::{Made, New, PREFIX, RANDOM_BYTES, make};
use self::token::{digest, id_of};
use crate::identity::{Identity, Proof};
use crate::live::{FILE_BYTES_MAX, Live};
use crate::refused::{Refused, Unavailable, Unproved};

/// Largest file of tokens, in bytes.
pub const TOKEN_FILE_BYTES_MAX: u64 = FILE_BYTES_MAX;

/// The longest that a token is taken after it was taken out of its file: how long tokens are taken after the file was last
/// whole. Where the file stays whole, it is a second.
pub const REVOCATION_DELAY_MAX: SignedDuration = SignedDuration::from_secs(30);

/// The static tokens of one file.
pub(crate) struct StaticTokens {
    live: Live<Tokens>,
}

impl StaticTokens {
    pub(crate) fn open(file: &Path, now: Timestamp) -> Result<Self, FileError> {
        Ok(Self { live: Live::open(Tokens { file: file.to_owned() }, now)? })
    }

    /// Who has a token.
    pub(crate) fn identify(&self, token: &str, now: Timestamp) -> Result<Identity, Unproved> {
        let id = id_of(token).ok_or(Refused::Form)?;
        let current = self.live.current(now);
        let is_over = |whole: &Timestamp| now.duration_since(*whole) > REVOCATION_DELAY_MAX;
        if let Some(whole) = current.last_whole.filter(is_over) {
            return Err(Unavailable::Tokens { file: self.file(), whole }.into());
        }
        let known = current.made.get(id).filter(|known| is_digest_of(known, token));
        let known = known.ok_or_else(|| Refused::Token(id.to_owned()))?;
        if let Some(until) = known.until.filter(|until| *until <= now) {
            return Err(Refused::Expired(until).into());
        }
        let proof = Proof::Token(known.name.clone());
        Ok(Identity::new(&known.user, known.groups.clone(), known.until, proof).map_err(Refused::from)?)
    }

    fn file(&self) -> PathBuf {
        self.live.source().file.clone()
    }
}

fn is_digest_of(known: &Known, token: &str) -> bool {
    known.digest.ct_eq(&digest(token)).into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn new(name: &str) -> New {
        New {
            name: name.to_owned(),
            user: "robot".to_owned(),
            groups: ["builders".to_owned()].into(),
            until: None,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn random() -> [u8; RANDOM_BYTES] {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random).unwrap();
        random
    }

    fn write(file: &Path, entries: &[&Entry]) {
        let tokens = TokenFile { tokens: entries.iter().map(|entry| (*entry).clone()).collect() };
        fs::write(file, tokens.to_yaml()).unwrap();
    }

    #[test]
    fn a_token_in_the_file_is_taken_until_its_time_and_one_that_is_not_in_it_never() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.yaml");
        let made = make(New { until: Some(at(100)), ..new("ci") }, &random()).unwrap();
        let other = make(new("other"), &random()).unwrap();
        write(&file, &[&made.entry]);
        let tokens = StaticTokens::open(&file, at(0)).unwrap();
        let found = tokens.identify(made.token.expose(), at(99)).unwrap();
        assert_eq!((found.user(), found.until()), ("robot", Some(at(100))));
        assert_eq!(found.proof(), &Proof::Token("ci".to_owned()));
        let refused = |token: &str, now| match tokens.identify(token, now).unwrap_err() {
            Unproved::Refused(refused) => refused,
            Unproved::Unavailable(error) => panic!("{error}"),
        };
        assert_eq!(refused(made.token.expose(), at(100)), Refused::Expired(at(100)));
        assert_eq!(refused(other.token.expose(), at(1)), Refused::Token(other.entry.id.clone()));
        // The right id and another secret.
        let forged = format!("dcm_{}{}", made.entry.id, &other.token.expose()[20..]);
        assert_eq!(refused(&forged, at(1)), Refused::Token(made.entry.id.clone()));
        assert_eq!(refused("dcm_", at(1)), Refused::Form);
    }

    #[test]
    fn a_token_that_is_taken_out_is_refused_within_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.yaml");
        let made = [make(new("one"), &random()).unwrap(), make(new("two"), &random()).unwrap()];
        write(&file, &[&made[0].entry, &made[1].entry]);
        let tokens = StaticTokens::open(&file, at(0)).unwrap();
        assert!(tokens.identify(made[0].token.expose(), at(1)).is_ok());
        write(&file, &[&made[1].entry]);
        assert!(tokens.identify(made[0].token.expose(), at(2)).is_err());
        assert!(tokens.identify(made[1].token.expose(), at(2)).is_ok());
    }

    #[test]
    fn a_broken_file_ends_all_tokens_after_a_grace_and_a_whole_one_brings_them_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.yaml");
        let made = make(new("ci"), &random()).unwrap();
        write(&file, &[&made.entry]);
        let tokens = StaticTokens::open(&file, at(0)).unwrap();
        let grace = REVOCATION_DELAY_MAX.as_secs();
        let is_taken = |now| tokens.identify(made.token.expose(), at(now)).map(drop);
        for (now, text) in (1..).zip(["", "tokens", "{}", "tokens: [{}]"]) {
            fs::write(&file, text).unwrap();
            assert!(is_taken(now).is_ok(), "{text:?}");
        }
        assert!(is_taken(grace).is_ok());
        let error = is_taken(1 + grace).unwrap_err();
        assert!(error.is_retryable(), "{error}");
        write(&file, &[&made.entry]);
        assert!(is_taken(2 + grace).is_ok());
        // Nobody asked for long, and the file has been broken for nobody knows how long.
        fs::write(&file, "").unwrap();
        assert!(is_taken(3 + 2 * grace).is_err());
    }
}
