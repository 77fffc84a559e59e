//! One static token: its text, and how it is made.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use dcm_core::refusal::Refusals;
use dcm_core::secret::Secret;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::file::{self, Entry};

/// How each static token begins: a search for leaked secrets knows it by this.
pub const PREFIX: &str = "dcm_";

/// Bytes of an id: enough to tell the tokens of one file apart.
const ID_BYTES: usize = 8;

/// Bytes of a secret: nobody guesses one of 2²⁵⁶.
const SECRET_BYTES: usize = 32;

/// Random bytes that one token is made of.
pub const RANDOM_BYTES: usize = ID_BYTES + SECRET_BYTES;

/// A token that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct New {
    /// What it is called, in the file and in logs.
    pub name: String,
    /// Who has it.
    pub user: String,
    /// The groups that they are in.
    pub groups: BTreeSet<String>,
    /// When it ends; none: when its entry is taken out.
    pub until: Option<Timestamp>,
}

/// A token that was made. It is in its text alone; the entry has its hash.
#[derive(Debug)]
pub struct Made {
    /// The token, for whoever is to have it.
    pub token: Secret,
    /// What goes into the file.
    pub entry: Entry,
}

/// Makes a token of random bytes. They must be of the system's source for secrets: whoever knows them has the token.
///
/// # Errors
/// Names that a file of tokens does not take.
pub fn make(new: New, random: &[u8; RANDOM_BYTES]) -> Result<Made, Refusals> {
    let (id, secret) = random.split_at(ID_BYTES);
    let id = HEXLOWER.encode(id);
    let token = Secret::new(format!("{PREFIX}{id}_{}", HEXLOWER.encode(secret)));
    let hash = format!("{}{}", file::HASH_PREFIX, HEXLOWER.encode(&digest(token.expose())));
    let New { name, user, groups, until } = new;
    let entry = Entry { name, id, user, groups, hash, until };
    entry.check()?;
    Ok(Made { token, entry })
}

/// The id in a token's text, if that has the form of one.
pub(super) fn id_of(token: &str) -> Option<&str> {
    let (id, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
    (is_id(id) && is_hexadecimal(secret, SECRET_BYTES)).then_some(id)
}

pub(super) fn is_id(text: &str) -> bool {
    is_hexadecimal(text, ID_BYTES)
}

fn is_hexadecimal(text: &str, bytes: usize) -> bool {
    text.len() == 2 * bytes && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// What is kept of a token.
pub(super) fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The digest in a text of 64 hexadecimal digits.
pub(super) fn digest_of(text: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn new() -> New {
        New { name: "ci".to_owned(), user: "robot".to_owned(), groups: BTreeSet::new(), until: None }
    }

    #[test]
    fn a_token_has_the_documented_form_and_its_entry_the_hash_that_other_tools_make() {
        let made = make(new(), &[0xab; RANDOM_BYTES]).unwrap();
        let expected = format!("dcm_{}_{}", "ab".repeat(8), "ab".repeat(32));
        assert_eq!(made.token.expose(), expected);
        assert_eq!(made.entry.id, "ab".repeat(8));
        // printf %s "$token" | sha256sum
        assert_eq!(
            made.entry.hash,
            "sha256:5d4869f5a8005482a0eea383163f1afd21e9b8311919a3f0c94c66cbc8aa4273"
        );
    }

    #[test]
    fn neither_the_token_nor_its_random_bytes_are_shown() {
        let made = make(new(), &[0xab; RANDOM_BYTES]).unwrap();
        assert!(!format!("{made:?}").contains(&"ab".repeat(32)), "{made:?}");
    }

    #[test]
    fn a_token_for_the_system_is_not_made() {
        let refused = make(New { user: "system:admin".to_owned(), ..new() }, &[0; RANDOM_BYTES]).unwrap_err();
        assert_eq!(refused.as_slice()[0].path, "user");
    }

    proptest! {
        #[test]
        fn every_token_is_found_by_its_id(random: [u8; RANDOM_BYTES]) {
            let made = make(new(), &random).unwrap();
            prop_assert_eq!(id_of(made.token.expose()), Some(made.entry.id.as_str()));
        }

        #[test]
        fn a_text_that_is_no_token_has_no_id(text in "(dcm_)?[0-9a-fA-F_.]{0,90}|.*") {
            let has_form = text.len() == 85 && text.starts_with(PREFIX) && text.as_bytes()[20] == b'_';
            prop_assert!(has_form || id_of(&text).is_none());
        }
    }
}
