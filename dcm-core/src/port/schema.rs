//! The version of what is stored: a record that another version of the software wrote is not read, and so never written
//! back without what only that version knows.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::store::{self, Entry};
use crate::causes;

/// The `schema` member of a record, which is written as this version. Read, it has to be so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Schema<const VERSION: u32>;

impl<const VERSION: u32> Serialize for Schema<VERSION> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

impl<'de, const VERSION: u32> Deserialize<'de> for Schema<VERSION> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            found if found == VERSION => Ok(Self),
            _ => Err(D::Error::custom("unknown schema")),
        }
    }
}

/// Why a record can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Another version of the software wrote it.
    #[error("{path} has schema {found}, which is not known here")]
    UnknownSchema {
        /// Where it is.
        path: store::Path,
        /// Its schema.
        found: u32,
    },
    /// It is no such record.
    #[error("{path} can't be read")]
    Unreadable {
        /// Where it is.
        path: store::Path,
        /// What is wrong with it.
        #[source]
        source: store::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl<const VERSION: u32> Schema<VERSION> {
    /// Reads a record with such a member, and says of one with another schema that it is so.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, ReadError> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        entry.document.read().map_err(|source| match entry.document.read::<Head>() {
            Ok(Head { schema }) if schema != VERSION => {
                ReadError::UnknownSchema { path: entry.path.clone(), found: schema }
            }
            Ok(_) | Err(_) => ReadError::Unreadable { path: entry.path.clone(), source },
        })
    }
}

/// A document that can't be read, and is passed over in a list: the others are shown all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Where it lies.
    pub path: store::Path,
    /// What is wrong with it, without its content.
    pub reason: String,
}

impl Broken {
    /// A document, and why it can't be read.
    #[must_use]
    pub fn new(path: &store::Path, error: &dyn std::error::Error) -> Self {
        Self { path: path.clone(), reason: causes::told(error) }
    }
}
