//! Trials of credentials: before they count as issued, and again at intervals.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::TokenRequest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{Call, Cluster, Error};
use dcm_core::port::store::{self, Store};
use dcm_core::port::synchronizer::Issued;
use dcm_core::port::trial::{ClientCredential, PrivateKeys, Trial};
use dcm_core::secret::Secret;

use super::calls::within;
use super::io::{Reply, Retrial};
use super::metrics::{Code, Verb};
use super::observed::{Answered, Asked};
use crate::record::{self, Outcome, path};

/// Credentials that expire within this time are not tried again. Clocks differ, and Kubernetes lets certificates of 8 hours and more expire 5
/// minutes earlier than requested.
const END_MARGIN: Duration = Duration::from_secs(600);

/// The way to a cluster at which a credential is tried.
pub(super) struct Trying<'a> {
    pub client: &'a dyn Cluster,
    pub clock: &'a Arc<dyn Clock>,
    pub cluster: &'a ClusterId,
    pub call: &'a Call,
    pub limit: Duration,
}

/// What was asked of a cluster, with what it answered.
pub(super) struct Tried {
    pub answered: Answered,
    /// The trial that followed, where one did.
    pub trial: Option<Answered>,
    pub reply: Result<Reply, Error>,
}

impl Trying<'_> {
    /// Asks for a token, and tries it at once: nothing else knows of it, so it is lost where that fails.
    pub(super) async fn token(&self, asked: Asked, request: &TokenRequest) -> Tried {
        let issuing = within(&**self.clock, self.limit, self.client.issue_token(self.call, request));
        let (answered, issued) = asked.send(self.clock.clone(), issuing).await;
        let token = match issued {
            Ok(token) => token,
            Err(error) => return Tried { answered, trial: None, reply: Err(error) },
        };
        let asked = Asked::new(self.cluster, self.call, Verb::Try).about_object(&request.account());
        let (answer, trial) = self.send(asked, &ClientCredential::Token(token.token.clone())).await;
        Tried { answered, trial: Some(answer), reply: Ok(Reply::Token(token, trial)) }
    }

    /// Tries a certificate, if its private key is kept here.
    pub(super) async fn certificate(
        &self,
        asked: Asked,
        keys: &dyn PrivateKeys,
        name: &str,
        pem: &Arc<str>,
    ) -> Tried {
        let unasked =
            |asked: Asked, reply| Tried { answered: asked.unasked(), trial: None, reply: Ok(reply) };
        match self.private_key(keys, name).await {
            Ok(Some(key)) => {
                let pem = pem.clone();
                let credential = ClientCredential::Certificate { pem: pem.clone(), key };
                let (answered, trial) = self.send(asked, &credential).await;
                Tried { answered, trial: None, reply: Ok(Reply::Tried { pem, trial }) }
            }
            Ok(None) => unasked(asked, Reply::Untried { pem: pem.clone() }),
            Err(error) => unasked(asked, Reply::Unread(error)),
        }
    }

    /// Tries a stored credential, if that is possible.
    pub(super) async fn try_stored(
        &self,
        asked: Asked,
        store: &dyn Store,
        keys: &dyn PrivateKeys,
        name: &str,
        lifetime: Option<Duration>,
    ) -> Tried {
        let (answered, retrial) = match self.read_stored(store, keys, name, lifetime).await {
            Ok(Some(credential)) => {
                let (answered, trial) = self.send(asked, &credential).await;
                let retrial = match trial {
                    Ok(Trial::Accepted | Trial::Unusable) => Retrial::Accepted,
                    Ok(Trial::Refused) => Retrial::Refused,
                    Err(_) => Retrial::Unknown,
                };
                (answered, retrial)
            }
            Ok(None) => (asked.unasked(), Retrial::Accepted),
            Err(error) => {
                let (cluster, error) = (self.cluster, &error as &dyn std::error::Error);
                tracing::warn!(%cluster, request = name, error, "a stored credential can't be read, and is not tried");
                (asked.unasked(), Retrial::Unknown)
            }
        };
        Tried { answered, trial: None, reply: Ok(Reply::TriedAgain(retrial)) }
    }

    /// Reads a request's credential from the store. None if there is none, if it expires, or if its private key is not stored. The owner of the
    /// app context renews credentials that expire.
    async fn read_stored(
        &self,
        store: &dyn Store,
        keys: &dyn PrivateKeys,
        name: &str,
        lifetime: Option<Duration>,
    ) -> Result<Option<ClientCredential>, store::Error> {
        let Some(context) = &self.call.context else { return Ok(None) };
        let Some(entry) = store.get(&path::result(context, self.cluster, name)).await? else {
            return Ok(None);
        };
        let Outcome { issued, .. } = record::read(&entry)?;
        let ends = self.clock.now() + END_MARGIN;
        match issued {
            Issued::Certificate { received, .. }
                if received.zip(lifetime).is_some_and(|(received, lifetime)| received + lifetime <= ends) =>
            {
                Ok(None)
            }
            Issued::Certificate { pem, .. } => {
                let key = self.private_key(keys, name).await?;
                Ok(key.map(|key| ClientCredential::Certificate { pem, key }))
            }
            Issued::Token { token, expires, .. } => {
                Ok((expires > ends).then_some(ClientCredential::Token(token)))
            }
        }
    }

    async fn private_key(&self, keys: &dyn PrivateKeys, name: &str) -> Result<Option<Secret>, store::Error> {
        let context: Option<&ContextId> = self.call.context.as_ref();
        match context {
            Some(context) => keys.private_key(context, name).await,
            None => Ok(None),
        }
    }

    /// Sends a credential. A refusal counts with the status that it is answered with.
    async fn send(&self, asked: Asked, credential: &ClientCredential) -> (Answered, Result<Trial, Error>) {
        let trying = self.client.try_credential(self.call, credential);
        let (answered, trial) =
            asked.send(self.clock.clone(), within(&**self.clock, self.limit, trying)).await;
        let code = match &trial {
            Ok(Trial::Refused) => Code::Status(401),
            Ok(Trial::Unusable) => Code::Unasked,
            Ok(Trial::Accepted) | Err(_) => answered.code,
        };
        (Answered { code, ..answered }, trial)
    }
}
