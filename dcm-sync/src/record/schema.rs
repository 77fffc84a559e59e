//! The schema version in every record: what a later version wrote is not read, and so never written back without what
//! only that version knows.

use dcm_core::port::store::{Entry, Error};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const VERSION: u32 = 1;

/// The `schema` member of every record that is written.
pub(crate) const SCHEMA: Schema = Schema;

/// The `schema` member of a record: read, it is the version that we know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Self),
            _ => Err(D::Error::custom("unknown schema")),
        }
    }
}

/// Reads a record, and says of one that a later version wrote that it is.
pub(crate) fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    entry.document.read().map_err(|source| match entry.document.read::<Head>() {
        Ok(Head { schema }) if schema != VERSION => {
            let reason = format!("{} has schema {schema}, which is not known here", entry.path);
            Error::Failed { reason, source: None }
        }
        Ok(_) | Err(_) => source,
    })
}
