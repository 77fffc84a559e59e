//! The document: what is read, what is refused and how, what is written, and the published schema.
#![cfg(feature = "logical-cloud")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on is to panic, in its helpers, too")]

mod bad;
mod bad_documents;
mod examples;
mod round_trip;
mod schema;
mod values;

use dcm_core::document::{Document, Limits, RefusedText, parse};
use dcm_core::name::ProjectName;

/// Reads a text whose clouds are in the project `default`.
fn read(text: impl AsRef<[u8]>) -> Result<Vec<Document>, RefusedText> {
    parse(text.as_ref(), &ProjectName::new("default").unwrap(), &Limits::default())
}
