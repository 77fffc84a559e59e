//! Tokens that a simulated cluster issues: opaque texts that it knows again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::TokenRequest;
use dcm_core::port::cluster::{Error, IssuedToken};
use dcm_core::secret::Secret;
use jiff::Timestamp;

use super::kind::Kind;
use super::object::later;
use super::rbac::Identity;
use super::server::{Server, key_of};
use super::validation::{LIFETIME_SECONDS_MIN, invalid};

/// Lifetime of a token when none was asked for: Kubernetes' default.
const LIFETIME_SECONDS_DEFAULT: i64 = 3600;

/// Longest lifetime that may be asked for: Kubernetes' limit.
const LIFETIME_SECONDS_MAX: i64 = 1 << 32;

struct Known {
    namespace: Arc<str>,
    name: Arc<str>,
    /// UID of the ServiceAccount: one made again is another one.
    uid: Arc<str>,
    expires: Timestamp,
}

/// The tokens that have not ended.
#[derive(Default)]
pub(super) struct Tokens(BTreeMap<String, Known>);

impl Server {
    pub(super) fn issue_token(&mut self, request: &TokenRequest) -> Result<IssuedToken, Error> {
        let key = key_of(Kind::named("ServiceAccount"), Some(&request.namespace), &request.service_account);
        let uid = self.objects.get(&key).ok_or(Error::NotFound)?.state.uid.clone();
        let seconds = request.lifetime_seconds.unwrap_or(LIFETIME_SECONDS_DEFAULT);
        if !(LIFETIME_SECONDS_MIN..=LIFETIME_SECONDS_MAX).contains(&seconds) {
            return Err(invalid("spec.expirationSeconds: from 10 minutes to 2^32 seconds"));
        }
        let now = self.now;
        self.tokens.0.retain(|_, known| known.expires > now);
        let expires = later(now, Duration::from_secs(seconds.unsigned_abs()));
        let text = format!("simulated-token.{:016x}{:016x}", self.draw(), self.draw());
        let (namespace, name) = (request.namespace.clone(), request.service_account.clone());
        self.tokens.0.insert(text.clone(), Known { namespace, name, uid, expires });
        Ok(IssuedToken { token: Secret::new(text), expires })
    }

    /// Sets whether the API server refuses all tokens: it does not know the key that signs them.
    pub fn refuse_tokens(&mut self, refuses: bool) {
        self.refuses_tokens = refuses;
    }

    /// Replaces the key that signs tokens. Tokens issued before are no longer accepted.
    pub fn replace_token_key(&mut self) {
        self.tokens.0.clear();
    }

    /// Whom a token stands for; none when this cluster did not issue it, it has ended, or its ServiceAccount is gone.
    #[must_use]
    pub fn identify_token(&self, token: &Secret) -> Option<Identity> {
        let tokens = (!self.refuses_tokens).then_some(&self.tokens.0)?;
        let known = tokens.get(token.expose()).filter(|known| known.expires > self.now)?;
        let key = key_of(Kind::named("ServiceAccount"), Some(&known.namespace), &known.name);
        self.objects.get(&key).filter(|stored| stored.state.uid == known.uid)?;
        Some(Identity::service_account(&known.namespace, &known.name))
    }
}
