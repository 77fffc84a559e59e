//! The documents of the services, as they are stored.

mod cluster;
mod credential;
mod id;
mod part;
mod project;
mod root;
mod snapshot;

pub(super) use cluster::ClusterDocument;
pub(super) use credential::{CredentialDocument, Material};
pub(super) use id::DocumentId;
pub(super) use part::{Contents, Part, PartKey, PartKind, join, split};
pub(super) use project::ProjectDocument;
pub(super) use root::{AppliedReference, Root, RootDocument, SnapshotReference};
pub(super) use snapshot::{ContextOwner, CredentialId, Snapshot};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::port::store::{self, Entry};

use super::error::Error;

/// The schema version in every document.
const SCHEMA: u32 = 1;

/// The `schema` member of a document: read, it is the version that we know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            SCHEMA => Ok(Self),
            _ => Err(D::Error::custom("unknown schema")),
        }
    }
}

/// Reads a stored document.
pub(super) fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    entry.document.read().map_err(|source| match entry.document.read::<Head>() {
        Ok(Head { schema }) if schema != SCHEMA => {
            Error::UnknownSchema { path: entry.path.clone(), found: schema }
        }
        Ok(_) | Err(_) => source.into(),
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
            "material": {"type": "certificate", "request": request, "key": {"$secret": "hunter2"}}, "changed": change,
        });
        let cluster: ClusterDocument = serde_json::from_value(cluster).unwrap();
        let credential: CredentialDocument = serde_json::from_value(credential).unwrap();
        let stored = to_value(&cluster).unwrap().to_string() + &to_value(&credential).unwrap().to_string();
        assert_eq!(stored.matches("hunter2").count(), 2);
        let shown = format!("{cluster:?} {cluster:#?} {credential:?} {credential:#?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
