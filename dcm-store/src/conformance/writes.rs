//! Rules about single documents.

use dcm_core::port::store::{DOCUMENT_BYTES_MAX, Document, Error, PATH_BYTES_MAX, StoreExt, Version, Write};
use dcm_core::secret::Secret;

use super::Subject;
use super::subject::content;

/// What was never written is not there, and that is no error.
pub async fn a_missing_document_is_none(subject: &Subject) {
    assert_eq!(subject.get("none").await, None);
    assert!(subject.list().await.is_empty());
}

/// A document comes back to the letter: the order of its members, its numbers and its white space.
pub async fn a_document_is_read_as_it_was_written(subject: &Subject) {
    for (name, text) in [
        ("object", r#"{"z":1.50,"a":[1e3,123456789012345678901234567890,-0.0],"é":"\u00e9\n\"/\\","":null}"#),
        ("spaces", " { \"b\" : [ ] ,\n\t\"a\" : { } } "),
        ("text", "\"$secret and $sealed are words\""),
        ("null", "null"),
        ("secret", "{ \"\\u0061\" : {\"$secret\":\"x\"} ,\n\"b\":[ 1.50, {\"$secret\":\"y\"} ] }"),
    ] {
        if name == "secret" && !subject.store().capabilities().holds_secrets {
            continue;
        }
        let path = subject.path(name);
        let create = Write::Create { path: path.clone(), document: Document::from_stored(text) };
        let version = subject.write(create).await.expect(name);
        let entry = subject.get(name).await.expect(name);
        assert_eq!((entry.path, entry.version, entry.document.as_str()), (path, version, text));
    }
}

/// Paths are bytes: neither case nor accents nor wildcards of any query language make two of them one.
pub async fn paths_of_any_text_are_different_documents(subject: &Subject) {
    let long = "x".repeat(PATH_BYTES_MAX - subject.prefix().as_str().len());
    let names = [
        "a", "A", "a b", "a%", "a_", "a*", "é", "e\u{301}", "a'b", "a\"b", "a\\b", "a$b", "a.b", "😀", &long,
    ];
    for (content, name) in (0..).zip(names) {
        subject.create(name, content).await;
    }
    for (expected, name) in (0..).zip(names) {
        assert_eq!(content(&subject.get(name).await.expect(name)), expected, "{name}");
    }
    assert_eq!(subject.list().await.len(), names.len());
}

/// Create is for what is not there, and a conflict says which version is.
pub async fn create_needs_that_there_is_none(subject: &Subject) {
    let version = subject.create("a", 1).await;
    let error = subject.write(subject.creation("a", 2)).await.expect_err("a second create");
    subject.assert_conflict(&error, "a", Some(version));
    assert_eq!(content(&subject.get("a").await.expect("a")), 1, "nothing of a failed write happens");
}

/// Update is for the version that it names, and a conflict says which one there is.
pub async fn update_needs_the_version_that_it_names(subject: &Subject) {
    let error = subject.write(subject.update("a", Version(1), 1)).await.expect_err("an update of nothing");
    subject.assert_conflict(&error, "a", None);
    let first = subject.create("a", 1).await;
    let second = subject.write(subject.update("a", first, 2)).await.expect("update");
    assert!(second > first);
    for stale in [first, Version(second.0 + 1), Version(0), Version(u64::MAX)] {
        let error =
            subject.write(subject.update("a", stale, 3)).await.expect_err("an update of another version");
        subject.assert_conflict(&error, "a", Some(second));
    }
    let entry = subject.get("a").await.expect("a");
    assert_eq!((entry.version, content(&entry)), (second, 2), "nothing of a failed write happens");
}

/// Delete is for the version that it names, and gives it.
pub async fn delete_needs_the_version_that_it_names(subject: &Subject) {
    let error = subject.write(subject.deletion("a", Version(1))).await.expect_err("a deletion of nothing");
    subject.assert_conflict(&error, "a", None);
    let first = subject.create("a", 1).await;
    let second = subject.write(subject.update("a", first, 2)).await.expect("update");
    let error = subject.write(subject.deletion("a", first)).await.expect_err("a deletion of another version");
    subject.assert_conflict(&error, "a", Some(second));
    assert_eq!(subject.write(subject.deletion("a", second)).await.expect("delete"), second);
    assert_eq!(subject.get("a").await, None);
}

/// Also over deletion and re-creation: who holds an old version can never write over what came later.
pub async fn versions_grow_and_are_never_used_again(subject: &Subject) {
    let mut last = None;
    for round in 0..5 {
        let created = subject.create("a", round).await;
        assert!(last.is_none_or(|last| created > last), "{created:?} after {last:?}");
        // Writes of other documents don't get in between.
        subject.create(&format!("other-{round}"), round).await;
        let updated = subject.write(subject.update("a", created, round)).await.expect("update");
        assert!(updated > created, "{updated:?} after {created:?}");
        subject.write(subject.deletion("a", updated)).await.expect("delete");
        let error =
            subject.write(subject.update("a", updated, round)).await.expect_err("an update of what is gone");
        subject.assert_conflict(&error, "a", None);
        last = Some(updated);
    }
}

/// Documents of the whole length that the contract allows, and no longer.
pub async fn the_largest_document_is_held_and_a_larger_one_refused(subject: &Subject) {
    let text = format!("\"{}\"", "x".repeat(DOCUMENT_BYTES_MAX - 2));
    let write =
        |name, text: &str| Write::Create { path: subject.path(name), document: Document::from_stored(text) };
    subject.write(write("largest", &text)).await.expect("the largest document");
    assert_eq!(subject.get("largest").await.expect("the largest document").document.as_str(), text);
    let refused = subject.write(write("larger", &format!(" {text}"))).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    assert_eq!(subject.get("larger").await, None);
}

/// What stands for a document that could not be read is never written in the place of one.
pub async fn a_content_that_can_not_be_read_is_refused(subject: &Subject) {
    let version = subject.create("a", 1).await;
    let unread = Error::Failed { reason: "it was damaged".into(), source: None };
    let (path, document) = (subject.path("a"), Document::unreadable(unread));
    let before = subject.get("a").await;
    for write in [
        Write::Update { path, version, document: document.clone() },
        Write::Create { path: subject.path("b"), document },
    ] {
        let written = subject.write(write).await;
        assert!(matches!(written, Err(Error::Invalid { .. })), "{written:?}");
    }
    assert_eq!((subject.get("a").await, subject.get("b").await), (before, None));
}

/// A store that may hold clear secrets gives them back; one that may not refuses them, wherever they are and however
/// they are spelled.
pub async fn clear_secrets_are_held_or_refused_by_capability(subject: &Subject) {
    let secret = serde_json::to_string(&Secret::new("hunter2")).expect("a secret");
    let nested = format!(r#"{{"users":[{{"name":"u","key":{secret}}}]}}"#);
    let spelled = r#"{"key":{"\u0024secret":"hunter2"}}"#.to_owned();
    for (name, text) in [("bare", secret), ("nested", nested), ("spelled", spelled)] {
        let path = subject.path(name);
        let document = Document::from_stored(text.as_str());
        let written = subject.store().write_one(Write::Create { path: path.clone(), document }).await;
        if subject.store().capabilities().holds_secrets {
            written.expect("a secret");
            let read: serde_json::Value = subject.get(name).await.expect(name).document.read().expect(name);
            assert_eq!(Some(read), serde_json::from_str(&text).ok());
        } else {
            let shown = format!("{written:?}");
            assert!(matches!(written, Err(Error::Invalid { .. })), "{shown}");
            assert!(!shown.contains("hunter2"), "a secret in an error");
            assert_eq!(subject.get(name).await, None);
        }
    }
}
