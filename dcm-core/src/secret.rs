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
    fn a_stored_secret_is_marked_and_comes_back() {
        let stored = serde_json::to_string(&Secret::new("hunter2")).unwrap();
        assert_eq!(stored, r#"{"$secret":"hunter2"}"#);
        assert_eq!(serde_json::from_str::<Secret>(&stored).unwrap(), Secret::new("hunter2"));
    }
}
