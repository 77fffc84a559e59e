//! Credentials of users that are tried at their cluster before they are handed out.
//!
//! The cluster decides who a credential stands for, so only the cluster can answer whether it accepts one: what signs
//! certificates can be another authority than the one that the API server trusts.

use std::sync::Arc;

use async_trait::async_trait;

use crate::name::ContextId;
use crate::port::store;
use crate::secret::Secret;

/// What a user authenticates with at a cluster.
#[derive(Debug, Clone)]
pub enum ClientCredential {
    /// A client certificate.
    Certificate {
        /// The certificate chain, PEM.
        pem: Arc<str>,
        /// Its private key, PEM.
        key: Secret,
    },
    /// A bearer token.
    Token(Secret),
}

/// How a cluster takes a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// The cluster accepts it, whatever it lets its user do.
    Accepted,
    /// The cluster does not accept it: its user is as good as unknown there.
    Refused,
    /// No client can use it, such as a certificate of another key. Nothing was sent.
    Unusable,
}

/// Finds the private keys of certificates, so that a certificate can be tried.
///
/// # Contract
/// - A key is asked for when its certificate is there, once for each try, and dropped after it.
/// - None is an answer: the user keeps the key, or it is kept elsewhere. Then the certificate can't be tried.
#[async_trait]
pub trait PrivateKeys: Send + Sync + 'static {
    /// The key, in PEM, of a request for a certificate in an app context; none when it is not kept here.
    ///
    /// # Errors
    /// Those of the store that keeps it.
    async fn private_key(&self, context: &ContextId, request: &str) -> Result<Option<Secret>, store::Error>;
}

/// Keeps no private keys: no certificate can be tried.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrivateKeys;

#[async_trait]
impl PrivateKeys for NoPrivateKeys {
    async fn private_key(&self, _: &ContextId, _: &str) -> Result<Option<Secret>, store::Error> {
        Ok(None)
    }
}
