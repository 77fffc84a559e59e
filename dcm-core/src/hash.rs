//! Content hashes: SHA-256 over canonical JSON (object keys sorted, no white space).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::hexadecimal::{self, BYTES};

/// The SHA-256 of a value's canonical JSON. Its text form is 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; BYTES]);

text_form!(ContentHash, "^[0-9a-f]{64}$");

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a content hash is 64 lower-case hexadecimal digits")]
pub struct InvalidHash;

impl ContentHash {
    /// The hash of a JSON value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        let mut text = String::with_capacity(256);
        write_canonical(value, &mut text);
        Self::of_bytes(text.as_bytes())
    }

    /// The hash of bytes as they are.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest itself.
    pub(crate) fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// From the bytes of a digest, or of several that were put together.
    pub(crate) fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// The first `digits` hexadecimal digits: for names and labels that must be short.
    #[must_use]
    pub fn short(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits);
        text
    }
}

/// Appends a value as canonical JSON: equal values give equal texts, whatever order their members were read in.
pub fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            text.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                write_canonical(&members[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal::write(&self.0, f)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        hexadecimal::read(text).map(Self).ok_or(InvalidHash)
    }
}

impl TryFrom<String> for ContentHash {
    type Error = InvalidHash;

    fn try_from(text: String) -> Result<Self, InvalidHash> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn member_order_does_not_change_the_hash() {
        let one: Value = serde_json::from_str(r#"{"b":[1,{"y":2,"x":"\"é"}],"a":null}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a":null,"b":[1,{"x":"\"é","y":2}]}"#).unwrap();
        assert_eq!(ContentHash::of(&one), ContentHash::of(&other));
        assert_ne!(ContentHash::of(&one), ContentHash::of(&json!({"a": null})));
    }

    #[test]
    fn text_form_round_trips_and_refuses_other_texts() {
        let hash = ContentHash::of_bytes(b"");
        assert_eq!(hash.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert!(hash.to_string().to_uppercase().parse::<ContentHash>().is_err());
        assert!("ab".parse::<ContentHash>().is_err());
    }
}
