//! What is done with the users of a logical cloud, beside their documents.

pub(super) mod credential;
pub(super) mod revocation;
pub(super) mod revoke;
pub(super) mod subject;
