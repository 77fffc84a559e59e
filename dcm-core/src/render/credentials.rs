//! Which credential each user is to have: an input of rendering, like the logical cloud itself.

use std::collections::BTreeMap;

use crate::logical_cloud::{AccountSeed, Epoch, RequestNonce, RequestPem, Serial, User, UserType};
use crate::name::UserName;

/// The credentials of a cloud's users. A user without one is bound to nothing and gets nothing: binding a name of an
/// epoch that was only guessed could give rights back that were revoked.
pub type Credentials = BTreeMap<UserName, Credential>;

/// One user's credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The user's identity: rights are bound to its name.
    pub epoch: Epoch,
    /// Which credential of this identity.
    pub serial: Serial,
    /// What a certificate is asked for with; none for token users, and while there is no key yet: then nothing is asked for.
    pub request: Option<RequestToSend>,
    /// What the name of a token user's ServiceAccount is made with.
    pub accounts: AccountSeed,
}

/// What a certificate is asked for with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestToSend {
    /// The certificate signing request.
    pub pem: RequestPem,
    /// The random part of its name on clusters.
    pub nonce: RequestNonce,
}

/// Stands for a request that is only made when it is needed; nothing reads it.
const REQUEST_TO_BE_MADE: &str = "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----";

impl Credential {
    /// A user's credential of which no key is made yet: what is rendered with it shows what an apply would do, and is not for
    /// clusters.
    #[must_use]
    pub fn to_be_made(user: &User, epoch: Epoch, serial: Serial, accounts: AccountSeed) -> Self {
        let request = match &user.kind {
            UserType::Certificate { own_request: Some(own) } => Some(own.clone()),
            UserType::Certificate { own_request: None } => RequestPem::new(REQUEST_TO_BE_MADE).ok(),
            UserType::Token => None,
        };
        let request = request.map(|pem| RequestToSend { pem, nonce: RequestNonce::from_random(0) });
        Self { epoch, serial, request, accounts }
    }
}
