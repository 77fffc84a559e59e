//! The documents of the services, as they are stored.

mod authority;
mod cluster;
mod controller;
mod credential;
mod handed_out;
mod id;
mod owner;
mod part;
mod root;
mod snapshot;

pub(super) use authority::AuthorityDocument;
pub(super) use cluster::{ClusterDocument, endpoint};
pub(super) use controller::ControllerDocument;
pub(super) use credential::{CredentialDocument, EarlierCredential, Material, OneCredential};
pub(super) use handed_out::HandedOut;
pub(super) use id::DocumentId;
pub(super) use owner::OwnerDocument;
pub(super) use part::{Contents, Part, PartKey, PartKind, join, split};
pub(super) use root::{AppliedReference, Root, RootDocument, SnapshotReference};
pub(super) use snapshot::{ContextOwner, CredentialId, Deleted, Snapshot};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::port::schema::{self, ReadError};
use crate::port::store::{self, Entry};

use super::error::Error;

/// The `schema` member of every document.
pub(super) type Schema = schema::Schema<1>;

/// The same, to be written.
pub(super) const SCHEMA: Schema = schema::Schema;

/// Reads a stored document.
pub(super) fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, Error> {
    Schema::read(entry).map_err(|error| match error {
        ReadError::UnknownSchema { path, found } => Error::UnknownSchema { path, found },
        ReadError::Unreadable { path, source } => Error::Unreadable { path, source },
        ReadError::Store(source) => source.into(),
    })
}

/// A document as JSON.
pub(super) fn to_value<T: Serialize>(document: &T) -> Result<Value, store::Error> {
    serde_json::to_value(document).map_err(|source| store::Error::Invalid { reason: source.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_document_shows_its_secret() {
        let change = json!({"by": "ann", "at": "2026-01-01T00:00:00Z"});
        let cluster = json!({
            "schema": SCHEMA, "id": "p/c", "kubeconfig": {"$secret": "hunter2"}, "created": change, "changed": change,
        });
        let request = "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----";
        let credential = json!({
            "schema": SCHEMA, "user": "ann", "id": {"epoch": 1, "serial": 1}, "since": 1, "incarnation": 1,
            "material": {"type": "certificate", "request": request, "nonce": "0000000000000001", "key": {"$secret": "hunter2"}},
            "changed": change,
        });
        let cluster: ClusterDocument = serde_json::from_value(cluster).unwrap();
        let credential: CredentialDocument = serde_json::from_value(credential).unwrap();
        let stored = to_value(&cluster).unwrap().to_string() + &to_value(&credential).unwrap().to_string();
        assert_eq!(stored.matches("hunter2").count(), 2);
        let shown = format!("{cluster:?} {cluster:#?} {credential:?} {credential:#?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
