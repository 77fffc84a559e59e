//! What is written: each document says which write it comes from, so that whoever reads it knows which one was seen.

use std::fmt;

use dcm_core::port::store::Document;
use dcm_core::secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::history::Client;

/// Identifies one write of one client. No two writes of a history have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WriteId {
    /// Who writes.
    pub client: Client,
    /// How many it wrote before.
    pub number: u32,
}

impl fmt::Display for WriteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.client.0, self.number)
    }
}

/// The document of a write. It follows from nothing but the write, so that one that was changed on its way is known.
///
/// # Panics
/// Never: these are documents.
#[must_use]
pub(super) fn document(write: WriteId, holds_secrets: bool) -> Document {
    let WriteId { client, number } = write;
    // Of different lengths, so that they don't lie in the same places.
    let filler = "x".repeat(usize::try_from(number % 50).unwrap_or_default());
    let mut content = json!({ "client": client.0, "number": number, "filler": filler });
    if holds_secrets {
        content["secret"] = serde_json::to_value(Secret::new(filler.as_str())).expect("a secret");
    }
    Document::from_value(&content).expect("a small document")
}

/// The write that a document comes from; none for one that nobody wrote so.
pub(super) fn write_of(read: &Document, holds_secrets: bool) -> Option<WriteId> {
    let content: Value = read.read().ok()?;
    let number = |name: &str| content.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
    let write = WriteId { client: Client(number("client")?), number: number("number")? };
    (*read == document(write, holds_secrets)).then_some(write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_which_write_it_comes_from_and_a_changed_one_none() {
        let write = WriteId { client: Client(3), number: 7 };
        for holds_secrets in [false, true] {
            let document = document(write, holds_secrets);
            assert_eq!(document.as_str().contains("$secret"), holds_secrets);
            assert_eq!(write_of(&document, holds_secrets), Some(write));
            let changed = document.as_str().replace("xx", "x");
            assert_eq!(write_of(&Document::from_stored(changed), holds_secrets), None);
        }
    }
}
