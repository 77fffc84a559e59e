//! The schema of the engine's records.

use std::sync::Arc;

use dcm_core::port::schema::{self, ReadError};
use dcm_core::port::store::{Entry, Error};
use serde::de::DeserializeOwned;

/// The `schema` member of every record.
pub(crate) type Schema = schema::Schema<1>;

/// The same, to be written.
pub(crate) const SCHEMA: Schema = schema::Schema;

/// Reads a record.
pub(crate) fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, Error> {
    Schema::read(entry).map_err(|error| match error {
        ReadError::Store(source) => source,
        ReadError::Unreadable { path, source } => {
            Error::Failed { reason: format!("{path} can't be read"), source: Some(Arc::new(source)) }
        }
        unknown @ ReadError::UnknownSchema { .. } => {
            Error::Failed { reason: unknown.to_string(), source: None }
        }
    })
}
