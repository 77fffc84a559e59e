//! The rules that every backend checks before it writes: a backend calls these, so that all refuse the same.

use std::collections::BTreeSet;
use std::convert::Infallible;

use dcm_core::port::store::{
    BATCH_BYTES_MAX, BATCH_WRITES_MAX, DOCUMENT_BYTES_MAX, Document, Error, PAGE_MAX, PageRequest, Path,
    Write,
};
use dcm_core::secret::SECRET_MEMBER;

use crate::{json, signed};

/// Checks a batch before anything of it is written. `holds_secrets` is the backend's capability of that name. The size of a
/// document is that without the MAC of `EncryptedStore`, so that clients that write through that have the same room.
///
/// # Errors
/// [`Error::Invalid`] for more than [`BATCH_WRITES_MAX`] writes or [`BATCH_BYTES_MAX`] bytes, two writes of one path, a document
/// over [`DOCUMENT_BYTES_MAX`], one that can't be read, or one with a clear secret where none may be.
pub fn check_batch(batch: &[Write], holds_secrets: bool) -> Result<(), Error> {
    if batch.len() > BATCH_WRITES_MAX {
        return refuse(format!("a batch of {} writes; the most is {BATCH_WRITES_MAX}", batch.len()));
    }
    if batch.len() > 1 {
        let mut paths = BTreeSet::new();
        if let Some(twice) = batch.iter().find(|write| !paths.insert(write.path())) {
            return refuse(format!("two writes of {} in one batch", twice.path()));
        }
    }
    let mut bytes: usize = 0;
    for write in batch {
        let (path, its) = (write.path(), write.document().map_or(0, signed::bytes));
        if its > DOCUMENT_BYTES_MAX {
            return refuse(format!("{path} has {its} bytes, more than {DOCUMENT_BYTES_MAX}"));
        }
        bytes += its;
    }
    if bytes > BATCH_BYTES_MAX {
        return refuse(format!("a batch of {bytes} bytes; the most is {BATCH_BYTES_MAX}"));
    }
    for write in batch {
        let (Write::Create { path, document } | Write::Update { path, document, .. }) = write else {
            continue;
        };
        if let Err(error) = document.text() {
            return refuse(format!("{path} is to become what can't be read: {error}"));
        }
        if !holds_secrets && has_clear_secret(document)? {
            return refuse(format!(
                "{path} holds a clear secret, which this store must not keep: encrypt it"
            ));
        }
    }
    Ok(())
}

/// How many documents the page has at most.
///
/// # Errors
/// [`Error::Invalid`] for a page of none: a list in such pages would never end.
pub fn page_limit(page: &PageRequest) -> Result<usize, Error> {
    match page.limit {
        Some(0) => Err(Error::Invalid { reason: "a page has at least one document".into() }),
        Some(limit) => Ok(limit.min(PAGE_MAX)),
        None => Ok(PAGE_MAX),
    }
}

/// What reading a document gives whose version can't be read, and each write of it.
#[must_use]
pub fn unreadable_version(path: &Path) -> Error {
    let reason = format!(
        "the version of {path} can't be read, so no write finds it: remove it with the database's own tools"
    );
    Error::Failed { reason, source: None }
}

/// True when an object anywhere in the document has the member that marks a secret. A document that does not spell
/// the marker's name, as most, is not parsed for it.
///
/// # Errors
/// [`Error::Invalid`] when the document spells the marker and is not JSON, or is nested too deeply.
pub fn has_clear_secret(document: &Document) -> Result<bool, Error> {
    if !json::may_have(document.as_str(), SECRET_MEMBER) {
        return Ok(false);
    }
    let mut found = false;
    let walked = json::rewrite(document.as_str(), &[SECRET_MEMBER], |_| {
        found = true;
        Ok::<_, Infallible>(None)
    });
    match walked {
        Ok(_) => Ok(found),
        Err(halt) => refuse(json::reason(&halt)),
    }
}

fn refuse<T>(reason: String) -> Result<T, Error> {
    Err(Error::Invalid { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds_secret(text: &str) -> bool {
        has_clear_secret(&Document::from_stored(text)).unwrap()
    }

    #[test]
    fn a_secret_is_found_wherever_it_is_and_however_it_is_spelled() {
        assert!(holds_secret(r#"{"a":[1,{"b":{"$secret":"x"}}]}"#));
        assert!(holds_secret(r#"{"$secret":5,"more":true}"#));
        assert!(holds_secret(r#"{"a":{"\u0024secret":"x"}}"#));
        assert!(holds_secret(r#"{"a":{"$secret":"x"},"a":1}"#), "also behind a member of the same name");
    }

    #[test]
    fn a_text_that_only_mentions_the_marker_is_no_secret() {
        assert!(!holds_secret(r#"{"note":"write {\"$secret\": …} here"}"#));
        assert!(!holds_secret(r#"["$secret"]"#));
        assert!(!holds_secret(r#"{"$secrets":1,"line":"\u0001"}"#));
    }

    #[test]
    fn what_can_not_be_checked_is_refused() {
        let check = |text: &str| has_clear_secret(&Document::from_stored(text));
        assert!(matches!(check(r#"{"$secret":"#), Err(Error::Invalid { .. })));
        let deep = format!("{}\"$secret\"{}", "[".repeat(1000), "]".repeat(1000));
        assert!(matches!(check(&deep), Err(Error::Invalid { .. })));
    }
}
