//! All ways to prove who one is, together.

use std::fmt;
use std::sync::Arc;

use dcm_core::port::clock::Clock;
use dcm_core::refusal::Refusals;
use rustls::pki_types::CertificateDer;

use crate::bearer::{Kind as TokenKind, TOKEN_BYTES_MAX};
use crate::certificate;
use crate::identity::Identity;
use crate::name::{Invalid, Kind};
use crate::oidc::Issuers;
use crate::refused::{Refused, Unproved};
use crate::settings::Settings;
use crate::tls;
use crate::tokens::{FileError, StaticTokens};

/// Why callers can't be asked who they are.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The settings break rules.
    #[error("the settings are not taken")]
    Settings(#[source] Refusals),
    /// The static tokens can't be read.
    #[error("the static tokens can't be used")]
    Tokens(#[source] FileError),
    /// The authorities of an issuer can't be used.
    #[error("the issuer {issuer} can't be asked")]
    Issuer {
        /// The issuer.
        issuer: String,
        /// What is wrong.
        source: Box<tls::Error>,
    },
}

impl OpenError {
    /// Whether the same settings can be used later without anybody doing something: never.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// Finds out who asks.
///
/// # Contract
/// - It is opened without asking anybody: an issuer may be away then. Its keys are fetched when they are first needed.
/// - `bearer` needs a Tokio runtime with time and I/O. It waits for nothing while the keys that it needs are known, and else for one
///   fetch of them ([`crate::oidc::FETCH_TIME_LIMIT`]). The file of static tokens, a small one, is read in place.
/// - Nothing is remembered of tokens, good or bad.
pub struct Authenticator {
    takes_certificates: bool,
    issuers: Issuers,
    tokens: Option<StaticTokens>,
    reserved: Reserved,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

impl Authenticator {
    /// Reads the files of the settings.
    ///
    /// # Errors
    /// Settings that break rules, or files that can't be used.
    pub fn open(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        settings.check().map_err(OpenError::Settings)?;
        let tokens = settings.tokens.as_ref();
        let tokens = tokens.map(|tokens| StaticTokens::open(&tokens.file, clock.now()));
        Ok(Self {
            takes_certificates: settings.client_certificates.is_some(),
            issuers: Issuers::open(&settings.oidc, &clock)?,
            tokens: tokens.transpose().map_err(OpenError::Tokens)?,
            reserved: Reserved::of(settings),
            clock,
        })
    }

    /// Who has a token.
    ///
    /// # Errors
    /// The token proves nothing, or nobody can tell now.
    pub async fn bearer(&self, token: &str) -> Result<Identity, Unproved> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Refused::Long.into());
        }
        let (identity, [users, groups]) = match TokenKind::of(token).ok_or(Refused::Form)? {
            TokenKind::Static => {
                let tokens = self.tokens.as_ref().ok_or(Refused::Method)?;
                (tokens.identify(token, self.clock.now())?, Default::default())
            }
            TokenKind::Web => self.issuers.identify(token, &*self.clock).await?,
        };
        self.reserved.check(&identity, &users, &groups)?;
        Ok(identity)
    }

    /// Who a certificate is of that a TLS handshake has verified. To be asked for each request: a connection may be open for longer
    /// than its certificate is valid.
    ///
    /// # Errors
    /// The certificate proves nothing.
    pub fn certificate(&self, certificate: &CertificateDer<'_>) -> Result<Identity, Refused> {
        if !self.takes_certificates {
            return Err(Refused::Method);
        }
        let identity = certificate::identify(certificate, self.clock.now())?;
        self.reserved.check(&identity, "", "")?;
        Ok(identity)
    }
}

/// The beginnings of names that only one issuer gives.
struct Reserved {
    users: Vec<String>,
    groups: Vec<String>,
}

impl Reserved {
    fn of(settings: &Settings) -> Self {
        Self { users: settings.prefixes(Kind::User), groups: settings.prefixes(Kind::Group) }
    }

    /// Refuses names that begin as another issuer's do. `users` and `groups` are the prefixes of who gave the names.
    fn check(&self, identity: &Identity, users: &str, groups: &str) -> Result<(), Refused> {
        if !is_of(identity.user(), users, &self.users) {
            return Err(Invalid::OfAnother(Kind::User).into());
        }
        if !identity.groups().iter().all(|group| is_of(group, groups, &self.groups)) {
            return Err(Invalid::OfAnother(Kind::Group).into());
        }
        Ok(())
    }
}

/// Of all prefixes that a name begins with the longest says whose it is.
fn is_of(name: &str, own: &str, all: &[String]) -> bool {
    let begins = all.iter().filter(|prefix| name.starts_with(prefix.as_str()));
    begins.max_by_key(|prefix| prefix.len()).is_none_or(|longest| longest == own)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_prefix_says_whose_a_name_is() {
        let all = ["a:".to_owned(), "a:b:".to_owned()];
        for (name, own, expected) in [
            ("alice", "", true),
            ("a:alice", "", false),
            ("a:alice", "a:", true),
            ("a:b:alice", "a:b:", true),
            // The issuer of `a:` has a user who is called `b:alice`.
            ("a:b:alice", "a:", false),
        ] {
            assert_eq!(is_of(name, own, &all), expected, "{name} by {own:?}");
        }
    }

    proptest! {
        #[test]
        fn no_two_issuers_ever_give_one_name(
            prefixes in proptest::collection::btree_set("[ab:]{0,3}", 2..4),
            names in proptest::collection::vec("[ab:]{0,4}", 1..8),
        ) {
            let all: Vec<String> = prefixes.iter().filter(|prefix| !prefix.is_empty()).cloned().collect();
            let mut given = std::collections::BTreeMap::new();
            for own in &prefixes {
                for name in &names {
                    let name = format!("{own}{name}");
                    if is_of(&name, own, &all) {
                        prop_assert_eq!(given.entry(name).or_insert(own), &own);
                    }
                }
            }
        }
    }
}
