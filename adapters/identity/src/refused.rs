//! Why somebody's proof is not taken: for the log, and for the caller.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::{bearer, name, oidc};

/// Why nobody was proved to ask.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unproved {
    /// What was shown proves nothing: 401.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Nobody can tell now: 503.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl Unproved {
    /// Whether the same proof can be taken later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// What was wrong with a proof, in words for the log: nothing in them is secret. What comes from the caller is quoted and
/// shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is neither a static token nor a JSON Web Token.
    #[error("it has not the form of a token")]
    Form,
    /// It is longer than any token that is taken.
    #[error("it is longer than {} bytes", bearer::TOKEN_BYTES_MAX)]
    Long,
    /// No method that takes such tokens is configured.
    #[error("tokens of this kind are not taken here")]
    Method,
    /// It is not signed, or with an algorithm that is not taken.
    #[error("it is not signed with an algorithm that is taken")]
    Algorithm,
    /// Its header asks for what is not understood, or says that it is something else than a proof of who somebody is.
    #[error("its header has {0}, which is not taken")]
    Header(&'static str),
    /// It is of an issuer that is not configured.
    #[error("it is of the issuer {0:?}, who is not configured")]
    Issuer(String),
    /// It is for somebody else.
    #[error("it is for another audience")]
    Audience,
    /// It was signed with a key that the issuer does not have.
    #[error("the issuer has no such key")]
    Key,
    /// The signature is not that of the key.
    #[error("its signature is wrong")]
    Signature,
    /// A claim is missing, or has not the form that it must have.
    #[error("its claim {claim:?} {rule}")]
    Claim {
        /// The claim.
        claim: String,
        /// What it must be.
        rule: &'static str,
    },
    /// It proves nothing any more.
    #[error("it has expired at {0}")]
    Expired(Timestamp),
    /// It proves nothing yet.
    #[error("it is not valid before {0}")]
    NotYet(Timestamp),
    /// No static token like this is in the file, or no more. An id is no secret.
    #[error("there is no such static token as the one with the id {0}")]
    Token(String),
    /// The certificate can't be read.
    #[error("the certificate can't be read")]
    Certificate,
    /// The certificate does not say who it is of: it has no common name, or several.
    #[error("the certificate has not one common name")]
    CommonName,
    /// The names are not taken from outside.
    #[error(transparent)]
    Name(#[from] name::Invalid),
}

/// What a caller is told whose proof has expired, or is not valid yet: another one helps.
const EXPIRED: &str = "The credential has expired, or is not valid yet.";

/// What a caller is told whose proof is not taken for another reason. It is in the log; who guesses shall not learn of it.
const NOT_TAKEN: &str = "The credential is not valid.";

impl Refused {
    /// What the caller is told: one short sentence.
    #[must_use]
    pub fn told(&self) -> &'static str {
        match self {
            Self::Expired(_) | Self::NotYet(_) => EXPIRED,
            _ => NOT_TAKEN,
        }
    }
}

/// Why a proof can't be checked now.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The keys of an issuer can't be had.
    #[error("the keys of the issuer {issuer} can't be had")]
    Issuer {
        /// The issuer.
        issuer: String,
        /// What happened when they were last asked for.
        source: Arc<oidc::FetchError>,
    },
    /// The file of the static tokens has been broken for too long.
    #[error("the static tokens in {} can't be read; they last could at {whole}", file.display())]
    Tokens {
        /// The file.
        file: PathBuf,
        /// When it could be read last.
        whole: Timestamp,
    },
}

/// Most characters that are shown of a text of the caller's.
const SHOWN_MAX: usize = 128;

/// A text of the caller's for the log, which quotes it.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_told_nothing_but_that_another_credential_may_help() {
        let expired = Refused::Expired(Timestamp::UNIX_EPOCH);
        assert_eq!(expired.told(), "The credential has expired, or is not valid yet.");
        for refused in [
            Refused::Key,
            Refused::Token("1".to_owned()),
            Refused::Signature,
            Refused::Issuer("x".to_owned()),
        ] {
            assert_eq!(refused.told(), "The credential is not valid.");
        }
    }

    #[test]
    fn what_comes_from_the_caller_is_quoted_and_shortened_in_the_log() {
        let refused = Refused::Issuer(shown(&format!("a\n{}", "ä".repeat(1000))));
        let text = refused.to_string();
        assert!(text.starts_with(r#"it is of the issuer "a\nää"#), "{text}");
        assert!(text.chars().count() < 200, "{text}");
    }
}
