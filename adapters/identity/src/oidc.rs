//! Tokens of OpenID Connect issuers.
//!
//! A token is a JSON Web Token, signed with a key that the issuer publishes. The issuer is found by the token's own word
//! (`iss`), which counts for nothing until the signature was checked with a key of that issuer's; then it is as true as the rest.
//! Only signatures by private keys are accepted (RS, PS, ES and EdDSA, as far as `aws-lc-rs` has them). A shared secret that verifies
//! tokens could also make them, and `none` takes no secret at all.
//!
//! # Keys
//! They are fetched when they are first needed, for all who wait at once: the issuer's discovery document, whose `issuer` must be
//! the configured one letter by letter, then the keys that it names. They are fetched again in the background when they are
//! [`KEYS_REFRESH_AGE`] old, and at once when a token is signed with another key, but not more often than each
//! [`REFRESH_INTERVAL`]. While the issuer is away the known keys go on, until they are [`KEYS_AGE_MAX`] old: by then a key that the
//! issuer has taken back must not count any more.
//!
//! Only `https` is spoken, and `http` to loopback addresses. Redirects are not followed. Proxies are not asked.

mod claims;
mod fetch;
mod keyring;
mod keys;
mod signature;
mod token;
mod url;

use std::sync::Arc;

use dcm_core::port::clock::Clock;
use jiff::SignedDuration;

use self::keyring::{Keyring, Newer};
use self::keys::KeySet;
use self::token::Token;
use crate::authenticator::OpenError;
use crate::identity::Identity;
use crate::name::Kind;
use crate::refused::{Refused, Unavailable, Unproved, shown};
use crate::settings;

pub use self::claims::LEEWAY;
pub use self::fetch::{CONNECT_TIME_LIMIT, DOCUMENT_BYTES_MAX, FETCH_TIME_LIMIT, FetchError};
pub use self::url::Rule as UrlRule;
pub(crate) use self::url::check as check_url;

/// How old keys become before they are fetched again.
pub const KEYS_REFRESH_AGE: SignedDuration = SignedDuration::from_hours(1);

/// How old keys may become while the issuer is away: one that was taken back counts no longer than this.
pub const KEYS_AGE_MAX: SignedDuration = SignedDuration::from_hours(24);

/// The least time between two fetches from one issuer, whoever shows whatever tokens, and between an answer and the next try.
pub const REFRESH_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// All issuers.
pub(crate) struct Issuers(Vec<Issuer>);

struct Issuer {
    settings: settings::Issuer,
    keyring: Arc<Keyring>,
}

impl Issuers {
    pub(crate) fn open(issuers: &[settings::Issuer], clock: &Arc<dyn Clock>) -> Result<Self, OpenError> {
        let open = |settings: &settings::Issuer| {
            let keyring = Keyring::open(settings, Arc::clone(clock)).map_err(|source| OpenError::Issuer {
                issuer: settings.issuer.clone(),
                source: source.into(),
            })?;
            Ok(Issuer { settings: settings.clone(), keyring: Arc::new(keyring) })
        };
        Ok(Self(issuers.iter().map(open).collect::<Result<_, _>>()?))
    }

    /// Who has a token, and the prefixes that the issuer's users and groups have.
    pub(crate) async fn identify(
        &self,
        token: &str,
        clock: &dyn Clock,
    ) -> Result<(Identity, [String; 2]), Unproved> {
        if self.0.is_empty() {
            return Err(Refused::Method.into());
        }
        let token = Token::read(token)?;
        let named = token.issuer()?;
        let issuer = self.0.iter().find(|issuer| issuer.settings.issuer == named);
        let issuer = issuer.ok_or_else(|| Refused::Issuer(shown(named)))?;
        issuer.verify(&token).await?;
        let identity = claims::identify(&token.claims, &issuer.settings, clock.now())?;
        Ok((identity, [Kind::User, Kind::Group].map(|kind| issuer.settings.prefix(kind))))
    }
}

impl Issuer {
    async fn verify(&self, token: &Token<'_>) -> Result<(), Unproved> {
        let keys = self.keyring.current().await.map_err(|source| self.unavailable(source))?;
        let Err(refused) = keys.verify(token) else { return Ok(()) };
        // The issuer may have other keys by now, perhaps one by the same name.
        match self.keyring.newer(&keys).await {
            Newer::Keys(keys) => Ok(KeySet::verify(&keys, token)?),
            Newer::None => Err(refused.into()),
            Newer::Failed(source) if refused == Refused::Key => Err(self.unavailable(source).into()),
            Newer::Failed(_) => Err(refused.into()),
        }
    }

    fn unavailable(&self, source: Arc<FetchError>) -> Unavailable {
        Unavailable::Issuer { issuer: self.settings.issuer.clone(), source }
    }
}
