//! Which credential each user is to have: an input of rendering, like the logical cloud itself.

use std::collections::BTreeMap;

use crate::logical_cloud::{Epoch, RequestPem, Serial};
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
    /// The certificate signing request; none for token users, and while there is no key yet: then nothing is asked for.
    pub request: Option<RequestPem>,
}
