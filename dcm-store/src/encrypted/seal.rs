//! Seals the secrets of one document, and opens them.

use std::collections::BTreeSet;

use aws_lc_rs::aead::{Aad, NONCE_LEN, Nonce};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use dcm_core::port::store::{Document, Entry, Error, Path};
use dcm_core::secret::SECRET_MEMBER;
use serde::{Deserialize, Serialize};

use super::keyring::{KeyId, Keyring};
use crate::json::{self, Found, Halt};

/// The member that marks a sealed secret in a stored document.
const SEALED_MEMBER: &str = "$sealed";

/// What a sealed value is bound to begins with this, so that no other use of a key opens it.
const PURPOSE: &str = "dcm sealed secret 1";

/// What is said of a sealed value that is not one.
const MALFORMED: &str = "it is malformed";

/// The value of the member.
#[derive(Serialize, Deserialize)]
struct Sealed {
    key: KeyId,
    nonce: String,
    data: String,
}

/// False for a document that has nothing to be sealed.
pub(super) fn may_have_secrets(document: &Document) -> bool {
    [SECRET_MEMBER, SEALED_MEMBER].iter().any(|marker| json::may_have(document.as_str(), marker))
}

/// The keys with which secrets of the document are sealed.
pub(super) fn keys_of(path: &Path, document: &Document) -> Result<BTreeSet<KeyId>, Error> {
    let mut keys = BTreeSet::new();
    if !json::may_have(document.as_str(), SEALED_MEMBER) {
        return Ok(keys);
    }
    let note = |found: Found<'_>| match sealed(&found) {
        Some(sealed) => {
            keys.insert(sealed.key);
            Ok(None)
        }
        None => Err(unopened(path, found.pointer, MALFORMED)),
    };
    match json::rewrite(document.as_str(), &[SEALED_MEMBER], note) {
        Ok(_) => Ok(keys),
        Err(halt) => Err(of_halt(halt)),
    }
}

/// True for a document with sealed secrets, as far as it can be read.
pub(super) fn is_sealed(entry: &Entry) -> bool {
    keys_of(&entry.path, &entry.document).is_ok_and(|keys| !keys.is_empty())
}

/// Refuses a document with a secret in clear: none is ever kept so.
pub(super) fn refuse_clear(path: &Path, document: &Document) -> Result<(), Error> {
    if !json::may_have(document.as_str(), SECRET_MEMBER) {
        return Ok(());
    }
    let refuse = |found: Found<'_>| {
        let pointer = found.pointer;
        Err(Error::Failed {
            reason: format!(
                "the secret at {pointer:?} of {path} is in clear, so it was not written with the keys of this store: restore \
                 the document from a backup"
            ),
            source: None,
        })
    };
    json::rewrite(document.as_str(), &[SECRET_MEMBER], refuse).map(drop).map_err(of_halt)
}

/// The document with each secret sealed.
pub(super) fn seal(keyring: &Keyring, path: &Path, document: &Document) -> Result<Document, Error> {
    if !may_have_secrets(document) {
        return Ok(document.clone());
    }
    let markers = [SECRET_MEMBER, SEALED_MEMBER];
    let invalid =
        |what: &str, pointer: &str| Error::Invalid { reason: format!("{path} at {pointer:?}: {what}") };
    let replace = |found: Found<'_>| match found.members.0.as_slice() {
        [(name, value)] if name == SECRET_MEMBER => {
            let text: String = serde_json::from_str(value.get())
                .map_err(|_| invalid("the value of `$secret` must be a text", found.pointer))?;
            seal_text(keyring, path, found.pointer, text).map(Some)
        }
        members if members.iter().any(|(name, _)| name == SEALED_MEMBER) => {
            Err(invalid("a document can't bring a `$sealed` member", found.pointer))
        }
        _ => Err(invalid("`$secret` must be the only member of its object", found.pointer)),
    };
    match json::rewrite(document.as_str(), &markers, replace) {
        Ok(text) => Ok(Document::from_stored(text)),
        Err(Halt::Refused(error)) => Err(error),
        Err(halt) => Err(Error::Invalid { reason: json::reason(&halt) }),
    }
}

/// The document with each sealed secret in clear.
pub(super) fn open(keyring: &Keyring, path: &Path, document: &Document) -> Result<Document, Error> {
    if !json::may_have(document.as_str(), SEALED_MEMBER) {
        return Ok(document.clone());
    }
    let replace = |found: Found<'_>| {
        open_text(keyring, path, &found).map(Some).map_err(|why| unopened(path, found.pointer, &why))
    };
    match json::rewrite(document.as_str(), &[SEALED_MEMBER], replace) {
        Ok(text) => Ok(Document::from_stored(text)),
        Err(halt) => Err(of_halt(halt)),
    }
}

fn unopened(path: &Path, pointer: &str, why: &str) -> Error {
    let reason = format!("the secret at {pointer:?} of {path} can't be opened: {why}");
    Error::Failed { reason, source: None }
}

fn of_halt(halt: Halt<Error>) -> Error {
    match halt {
        Halt::Refused(error) => error,
        Halt::NotJson { line, column } => Error::Corrupt { what: "document".into(), line, column },
        halt @ Halt::TooDeep => Error::Failed { reason: json::reason(&halt), source: None },
    }
}

/// What stands in the place of a secret; none when it is malformed.
fn sealed(found: &Found<'_>) -> Option<Sealed> {
    match found.members.0.as_slice() {
        [(_, sealed)] => serde_json::from_str(sealed.get()).ok(),
        _ => None,
    }
}

fn seal_text(keyring: &Keyring, path: &Path, pointer: &str, text: String) -> Result<String, Error> {
    let failed = |reason: &str| Error::Failed { reason: reason.into(), source: None };
    let id = keyring.current();
    let key = keyring.key(id).ok_or_else(|| failed("the current key is missing"))?;
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).map_err(|_| failed("the system gives no random numbers"))?;
    let mut data = text.into_bytes();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), place(path, pointer), &mut data)
        .map_err(|_| failed("the secret can't be sealed"))?;
    let sealed = Sealed { key: id.clone(), nonce: BASE64.encode(nonce), data: BASE64.encode(data) };
    Ok(serde_json::json!({ SEALED_MEMBER: sealed }).to_string())
}

fn open_text(keyring: &Keyring, path: &Path, found: &Found<'_>) -> Result<String, String> {
    let malformed = || MALFORMED.to_owned();
    let sealed = sealed(found).ok_or_else(malformed)?;
    let key =
        keyring.key(&sealed.key).ok_or_else(|| format!("there is no key {:?}", sealed.key.to_string()))?;
    let nonce = BASE64.decode(&sealed.nonce).map_err(|_| malformed())?;
    let nonce = Nonce::try_assume_unique_for_key(&nonce).map_err(|_| malformed())?;
    let mut data = BASE64.decode(&sealed.data).map_err(|_| malformed())?;
    let text = key
        .open_in_place(nonce, place(path, found.pointer), &mut data)
        .map_err(|_| format!("key {:?} is not the one that sealed it here", sealed.key.to_string()))?;
    let text = std::str::from_utf8(text).map_err(|_| malformed())?;
    Ok(serde_json::json!({ SECRET_MEMBER: text }).to_string())
}

/// What a value is bound to. Neither part can hold the line feed between them: a path has no control characters.
fn place(path: &Path, pointer: &str) -> Aad<String> {
    Aad::from(format!("{PURPOSE}\n{path}\n{pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encrypted::KEY_BYTES;
    use proptest::prelude::*;

    fn keyring(key: u8) -> Keyring {
        Keyring::new("k".parse().unwrap(), &[key; KEY_BYTES])
    }

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    fn sealed(text: &str) -> Document {
        seal(&keyring(1), &path("p"), &Document::from_stored(text)).unwrap()
    }

    #[test]
    fn secrets_are_sealed_wherever_they_are_and_all_else_stays_as_it_was() {
        let text = r#"{"z":1.0,"a":[{"$secret":"hunter2"},{"b":{"$secret":""}}],"note":"$secret"}"#;
        let document = sealed(text);
        assert!(!document.as_str().contains("hunter2") && !document.as_str().contains("{\"$secret"));
        assert!(document.as_str().starts_with(r#"{"z":1.0,"a":[{"$sealed":{"#));
        assert_eq!(open(&keyring(1), &path("p"), &document).unwrap().as_str(), text);
    }

    #[test]
    fn one_secret_is_sealed_differently_each_time() {
        let text = r#"[{"$secret":"x"},{"$secret":"x"}]"#;
        let one = sealed(text);
        let nonces: Vec<&str> = one.as_str().split("\"nonce\":\"").skip(1).collect();
        assert_ne!(nonces[0][..16], nonces[1][..16]);
        assert_ne!(one, sealed(text));
    }

    #[test]
    fn a_sealed_value_opens_at_its_own_place_only() {
        let document = sealed(r#"{"a":{"$secret":"1"},"b":{"$secret":"2"}}"#);
        let swapped =
            document.as_str().replace("\"a\"", "\"c\"").replace("\"b\"", "\"a\"").replace("\"c\"", "\"b\"");
        let swapped = Document::from_stored(swapped);
        assert!(matches!(open(&keyring(1), &path("p"), &swapped), Err(Error::Failed { .. })));
        assert!(matches!(open(&keyring(1), &path("q"), &document), Err(Error::Failed { .. })));
        assert!(open(&keyring(1), &path("p"), &document).is_ok());
    }

    #[test]
    fn a_wrong_or_missing_key_and_a_damaged_value_fail_with_the_reason() {
        let document = sealed(r#"{"$secret":"hunter2"}"#);
        let reason = |keyring: &Keyring, document: &Document| match open(keyring, &path("p"), document) {
            Err(error @ Error::Failed { .. }) => {
                assert!(!format!("{error:?} {error:#?} {error}").contains("hunter2"));
                error.to_string()
            }
            other => panic!("{other:?}"),
        };
        assert!(reason(&keyring(2), &document).contains("not the one that sealed it"));
        let other = Keyring::new("other".parse().unwrap(), &[1; KEY_BYTES]);
        assert!(reason(&other, &document).contains("no key \"k\""));
        let damaged = Document::from_stored(document.as_str().replace("data", "dato"));
        assert!(reason(&keyring(1), &damaged).contains("malformed"));
    }

    #[test]
    fn an_earlier_key_opens_and_the_current_one_seals() {
        let document = sealed(r#"{"$secret":"x"}"#);
        let renewed = Keyring::new("k2".parse().unwrap(), &[2; KEY_BYTES])
            .with_earlier("k".parse().unwrap(), &[1; KEY_BYTES]);
        let clear = open(&renewed, &path("p"), &document).unwrap();
        let again = seal(&renewed, &path("p"), &clear).unwrap();
        assert!(again.as_str().contains("\"key\":\"k2\""));
        assert_eq!(open(&renewed, &path("p"), &again).unwrap(), clear);
    }

    #[test]
    fn what_is_no_clean_secret_is_refused() {
        for text in [
            r#"{"a":{"$sealed":{"key":"k","nonce":"","data":""}}}"#,
            r#"{"a":{"\u0024sealed":1}}"#,
            r#"{"$secret":"hunter2","$sealed":1}"#,
            r#"{"$secret":"hunter2","more":1}"#,
            r#"{"$secret":"hunter2","$secret":"y"}"#,
            r#"{"$secret":{"$secret":"hunter2"}}"#,
            r#"{"$secret":["hunter2"]}"#,
            r#"{"$secret":"hunter2"#,
        ] {
            let refused = seal(&keyring(1), &path("p"), &Document::from_stored(text)).unwrap_err();
            assert!(matches!(refused, Error::Invalid { .. }), "{text}");
            assert!(!format!("{refused:?} {refused:#?} {refused}").contains("hunter2"), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_secret_comes_back(texts in proptest::collection::vec(any::<String>(), 0..4), name in any::<String>()) {
            prop_assume!(!name.starts_with('$'));
            let secrets: Vec<_> = texts.iter().map(|text| serde_json::json!({ "$secret": text })).collect();
            let document = Document::from_value(&serde_json::json!({ name: secrets })).unwrap();
            let sealed = seal(&keyring(1), &path("p"), &document).unwrap();
            let longest = Keyring::new("k".repeat(64).parse().unwrap(), &[1; KEY_BYTES]);
            let largest = seal(&longest, &path("p"), &document).unwrap();
            prop_assert!(largest.as_str().len() <= dcm_core::secret::sealed_bytes_max(document.as_str()));
            prop_assert_eq!(open(&keyring(1), &path("p"), &sealed).unwrap(), document);
        }
    }
}
