//! The type of a private key, as a document names it.

use crate::port::key_source::KeyType;
use crate::refusal::{Checks, Path};

/// Longest word that is shown where the type of a key is meant, in bytes.
const SHOWN_MAX: usize = 16;

/// Checks the name of a type; an absent or empty one is the default.
pub(super) fn check(text: Option<&str>, at: &Path, checks: &mut Checks) -> Option<KeyType> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Some(KeyType::default()) };
    let found = KeyType::from_name(text);
    if found.is_none() {
        checks.refuse(at, shown(text), "must be ecdsa-p256, rsa-2048, rsa-3072 or rsa-4096");
    }
    found
}

/// The part of a wrong name that a message may show. A text that can't be such a name is left out, as it may be the private key.
pub(super) fn shown(text: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if text.len() <= SHOWN_MAX && text.bytes().all(is_plain) { text } else { "" }
}
