//! The document of a user's credential.

use serde::{Deserialize, Serialize};

use crate::logical_cloud::{RequestNonce, RequestPem};
use crate::name::UserName;
use crate::port::key_source::KeyType;
use crate::render::RequestToSend;
use crate::secret::Secret;
use crate::service::caller::Change;

use super::{CredentialId, Schema};

/// A user's last credential. It stays when the user goes, without its key: an epoch is never used twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct CredentialDocument {
    pub schema: Schema,
    pub user: UserName,
    pub id: CredentialId,
    /// The edit in which its user came into the cloud.
    pub since: u64,
    /// The incarnation of the cloud that it was made in.
    pub incarnation: u64,
    /// The lifetime that is asked for, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<i32>,
    /// The type of key that was asked for.
    #[serde(default)]
    pub key_type: KeyType,
    pub material: Material,
    /// By how much its renewal is put off, so that not all are renewed in one moment; see [`Validity`].
    ///
    /// [`Validity`]: crate::service::validity::Validity
    #[serde(default)]
    pub renewal_delay: u16,
    /// Earlier credentials of the same identity, the newest first: they are good, and handed out, where a cluster has not
    /// issued a newer one yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierCredential>,
    pub changed: Change,
}

/// A credential in whose place a newer one has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct EarlierCredential {
    pub id: CredentialId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<i32>,
    pub material: Material,
}

/// How many earlier credentials are kept. A renewal begins at two thirds of a life, so two are alive at a time; more only
/// where clusters were reached at very different times.
const EARLIER_MAX: usize = 4;

impl CredentialDocument {
    /// The current credential and those before it, the newest first.
    pub(in crate::service) fn each(&self) -> impl Iterator<Item = OneCredential<'_>> {
        let current =
            OneCredential { id: self.id, lifetime_seconds: self.lifetime_seconds, material: &self.material };
        std::iter::once(current).chain(self.earlier.iter().map(|earlier| OneCredential {
            id: earlier.id,
            lifetime_seconds: earlier.lifetime_seconds,
            material: &earlier.material,
        }))
    }

    /// What is kept when a newer credential of the same identity comes: this one, and those before it.
    pub(in crate::service) fn into_earlier(self) -> Vec<EarlierCredential> {
        let Self { id, lifetime_seconds, material, earlier, .. } = self;
        let newest = EarlierCredential { id, lifetime_seconds, material };
        std::iter::once(newest).chain(earlier).take(EARLIER_MAX).collect()
    }
}

/// One of the credentials in a document.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct OneCredential<'a> {
    pub id: CredentialId,
    pub lifetime_seconds: Option<i32>,
    pub material: &'a Material,
}

impl Material {
    /// What certificates are asked for with.
    pub(in crate::service) fn request(&self) -> Option<RequestToSend> {
        match self {
            Self::Certificate { request, nonce, .. } => {
                Some(RequestToSend { pem: request.clone(), nonce: *nonce })
            }
            Self::Token | Self::Awaited | Self::Retired => None,
        }
    }

    /// True when both ask with one request: what is issued for one goes with the key of the other, too.
    pub(in crate::service) fn is_same_request(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Certificate { request, .. }, Self::Certificate { request: others, .. }) => {
                request == others
            }
            _ => false,
        }
    }

    /// True when another one can be made without its user.
    pub(in crate::service) fn is_renewable(&self) -> bool {
        match self {
            Self::Certificate { key, .. } => key.is_some(),
            Self::Token => true,
            Self::Awaited | Self::Retired => false,
        }
    }
}

/// What a credential is made of, on our side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::service) enum Material {
    /// A request for certificates, and its key.
    Certificate {
        /// The request.
        request: RequestPem,
        /// The random part of its name on clusters.
        nonce: RequestNonce,
        /// The private key, PEM; none when the user keeps it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Secret>,
    },
    /// A token; all of it comes from the cluster.
    Token,
    /// The user keeps the key, was revoked, and has not brought the next request yet.
    Awaited,
    /// The user is gone, and the key is forgotten.
    Retired,
}
