//! Names of documents that are never changed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash::ContentHash;

/// Hexadecimal digits of the hash: 128 bits, so that no two contents ever meet; a list of all parts of the largest
/// cloud still fits one document.
const HASH_DIGITS: usize = 32;

/// Names a document that is never changed: the number of the edit or apply that wrote it, and its content's hash. Two
/// who write under one name at the same moment write the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(in crate::service) struct DocumentId {
    number: u64,
    hash: String,
}

impl DocumentId {
    pub(in crate::service) fn of(number: u64, document: &Value) -> Self {
        Self { number, hash: ContentHash::of(document).short(HASH_DIGITS) }
    }

    /// The edit or apply that wrote it.
    pub(in crate::service) fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.number, self.hash)
    }
}

/// A text that names no document.
#[derive(Debug, thiserror::Error)]
#[error("a document's name is a number, '-' and {HASH_DIGITS} hexadecimal digits")]
pub(in crate::service) struct InvalidId;

impl FromStr for DocumentId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let (number, hash) = text.split_once('-').ok_or(InvalidId)?;
        let number = number.parse().map_err(|_| InvalidId)?;
        let id = Self { number, hash: hash.to_owned() };
        let hexadecimal = hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hexadecimal && id.to_string() == text { Ok(id) } else { Err(InvalidId) }
    }
}

impl TryFrom<String> for DocumentId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<DocumentId> for String {
    fn from(id: DocumentId) -> Self {
        id.to_string()
    }
}
