//! Values that must not be seen: keys, tokens, administrators' kubeconfigs.
//!
//! A [`Secret`] has no readable `Debug` and no `Display`. Serialised, it is the object `{"$secret": "…"}`: that is how
//! a stored document *declares* its secret fields. The `encrypted` store wrapper replaces each such object by
//! ciphertext, and a durable backend refuses a document that still has one, so a secret can't reach a disk in clear
//! because somebody forgot to list its field.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

/// The member name that marks a secret in a stored document.
pub const SECRET_MEMBER: &str = "$secret";

/// Most bytes that a sealed secret has beyond a third more than the clear one: its members, the id of its key, a nonce and a tag.
const SEALED_BYTES: usize = 192;

/// The most that a document of JSON has in bytes where its secrets are kept as ciphertext.
#[must_use]
pub fn sealed_bytes_max(json: &str) -> usize {
    match json.matches(SECRET_MEMBER).count() {
        0 => json.len(),
        secrets => json.len() + json.len() / 3 + secrets * SEALED_BYTES,
    }
}

/// A text that is kept from logs and wiped from memory when dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes a text into care.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The text itself. Every call is a place to look at when hunting leaks.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Secret", 1)?;
        object.serialize_field(SECRET_MEMBER, self.expose())?;
        object.end()
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Marked {
            #[serde(rename = "$secret")]
            text: String,
        }
        Marked::deserialize(deserializer).map(|marked| Self::new(marked.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_never_shows_the_text() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    }

    #[test]
    fn only_secrets_grow_when_they_are_sealed() {
        assert_eq!(sealed_bytes_max(r#"{"a":"clear"}"#), 13);
        let secret = r#"{"$secret":"hunter2"}"#;
        assert_eq!(sealed_bytes_max(secret), secret.len() * 4 / 3 + SEALED_BYTES);
    }

    #[test]
    fn a_stored_secret_is_marked_and_comes_back() {
        let stored = serde_json::to_string(&Secret::new("hunter2")).unwrap();
        assert_eq!(stored, r#"{"$secret":"hunter2"}"#);
        assert_eq!(serde_json::from_str::<Secret>(&stored).unwrap(), Secret::new("hunter2"));
    }
}
