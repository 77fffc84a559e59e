//! What the SQLite store promises beyond the contract: several users of one file, restarts, rights, damage.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "sqlite", feature = "encrypted"))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path as FilePath;
use std::sync::Arc;

use dcm_core::port::store::{
    Change, Document, Entry, Error, PageRequest, Path, Prefix, Store, StoreExt, Version, Watch, Write,
};
use dcm_core::secret::Secret;
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::{EncryptedStore, Keyring, SqliteStore};
use dcm_testenv::effort::patience;
use futures::StreamExt;
use serde_json::json;

fn path(text: &str) -> Path {
    Path::new(text).unwrap()
}

fn create(text: &str, value: &serde_json::Value) -> Write {
    Write::Create { path: path(text), document: Document::from_value(value).unwrap() }
}

fn keyring() -> Keyring {
    Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES])
}

async fn next(watch: &mut Watch) -> Change {
    tokio::time::timeout(patience(), watch.next()).await.unwrap().unwrap()
}

async fn failure(file: &FilePath) -> String {
    match SqliteStore::open(file).await {
        Err(Error::Failed { reason, .. }) => {
            assert!(reason.contains(&file.display().to_string()), "{reason}");
            reason
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("opened"),
    }
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_others_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let (one, other) = (SqliteStore::open(&file).await.unwrap(), SqliteStore::open(&file).await.unwrap());
    let mut watch = other.watch(&Prefix::below(&path("a"))).await.unwrap();
    let created = one.write_one(create("a/1", &json!(1))).await.unwrap();
    let entry = other.get(&path("a/1")).await.unwrap().unwrap();
    assert_eq!((next(&mut watch).await, entry.version), (Change::Put(entry.clone()), created));
    // The other one writes on, with versions that go on, and its own watch tells all in order.
    let second = other.write_one(create("a/2", &json!(2))).await.unwrap();
    assert!(second > created);
    assert!(matches!(next(&mut watch).await, Change::Put(entry) if entry.version == second));
    one.write_one(Write::Delete { path: path("a/1"), version: created }).await.unwrap();
    assert_eq!(next(&mut watch).await, Change::Deleted(path("a/1")));
    let conflict = other.write_one(Write::Delete { path: path("a/1"), version: created }).await.unwrap_err();
    assert!(matches!(conflict, Error::Conflict { found: None, .. }));
}

#[tokio::test]
async fn a_file_opened_again_has_everything_and_versions_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = SqliteStore::open(&file).await.unwrap();
    let first = store.write_one(create("a", &json!({"z": 1, "a": 2}))).await.unwrap();
    let gone = store.write_one(create("gone", &json!(1))).await.unwrap();
    store.write_one(Write::Delete { path: path("gone"), version: gone }).await.unwrap();
    drop(store);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a dropped store is a closed one");
    let store = SqliteStore::open(&file).await.unwrap();
    let entry = store.get(&path("a")).await.unwrap().unwrap();
    assert_eq!(
        (entry.version, entry.document),
        (first, Document::from_value(&json!({"z": 1, "a": 2})).unwrap())
    );
    assert!(store.write_one(create("gone", &json!(2))).await.unwrap() > gone);
}

#[tokio::test]
async fn many_can_open_a_new_file_at_the_same_time() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let opened = futures::future::join_all((0..8).map(|_| SqliteStore::open(&file))).await;
        for (number, store) in opened.into_iter().enumerate() {
            store.unwrap().write_one(create(&number.to_string(), &json!(1))).await.unwrap();
        }
        let store = SqliteStore::open(&file).await.unwrap();
        assert_eq!(store.list_all(&Prefix::everything()).await.unwrap().len(), 8);
        assert!(fs::read_dir(&folder).unwrap().count() <= 3, "nothing half made stays");
    }
}

#[tokio::test]
async fn the_files_are_for_their_owner_only() {
    let mode = |file: &FilePath| fs::metadata(file).unwrap().permissions().mode() & 0o7777;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    for round in 0..2 {
        let store = SqliteStore::open(&file).await.unwrap();
        store.write_one(create(&round.to_string(), &json!(1))).await.unwrap();
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
        drop(store);
        // A file that was opened to others is closed again.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

#[tokio::test]
async fn a_clear_secret_is_refused_and_does_not_reach_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).await.unwrap();
    let error = store.write_one(create("a", &json!({"key": Secret::new("hunter2")}))).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid { reason } if reason.contains("clear secret")), "{error}");
    assert!(!has_text(folder.path(), "hunter2"));
}

#[tokio::test]
async fn a_sealed_secret_is_nowhere_in_the_files() {
    use base64::Engine;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = EncryptedStore::new(Arc::new(SqliteStore::open(&file).await.unwrap()), keyring());
    let secret = "the plain text of a secret";
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    let document = json!({"public": "the public part", "key": Secret::new(secret)});
    let mut version = store.write_one(create("a", &document)).await.unwrap();
    let update =
        Write::Update { path: path("a"), version, document: Document::from_value(&document).unwrap() };
    version = store.write_one(update).await.unwrap();
    let entry = store.get(&path("a")).await.unwrap().unwrap();
    assert_eq!(entry.document.read::<serde_json::Value>().unwrap(), serde_json::to_value(&document).unwrap());
    assert!(matches!(next(&mut watch).await, Change::Put(told) if told.document == entry.document));
    assert!(has_text(folder.path(), "the public part"), "the search finds what is there");
    let encoded = base64::engine::general_purpose::STANDARD.encode(secret);
    assert!(!has_text(folder.path(), secret) && !has_text(folder.path(), &encoded[..24]));
    store.write_one(Write::Delete { path: path("a"), version }).await.unwrap();
    drop((store, watch));
    assert!(!has_text(folder.path(), secret) && !has_text(folder.path(), &encoded[..24]));
}

#[tokio::test]
async fn deleted_content_is_overwritten_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).await.unwrap();
    let content = json!("to be forgotten ".repeat(1000));
    let version = store.write_one(create("a", &content)).await.unwrap();
    let small = store.write_one(create("b", &json!("to be forgotten too"))).await.unwrap();
    assert!(has_text(folder.path(), "to be forgotten"));
    store.write_one(Write::Delete { path: path("a"), version }).await.unwrap();
    let document = Document::from_value(&json!("x")).unwrap();
    store.write_one(Write::Update { path: path("b"), version: small, document }).await.unwrap();
    drop(store);
    assert!(!has_text(folder.path(), "to be forgotten"));
}

/// True when a text is in any file of the folder, as bytes.
fn has_text(folder: &FilePath, text: &str) -> bool {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[tokio::test]
async fn a_wrong_key_fails_with_the_reason_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let inner = Arc::new(SqliteStore::open(folder.path().join("store.db")).await.unwrap());
    let store = EncryptedStore::new(inner.clone(), keyring());
    let document = json!({"key": Secret::new("hunter2")});
    let version = store.write_one(create("a/1", &document)).await.unwrap();
    let before = inner.get(&path("a/1")).await.unwrap();
    let wrong = EncryptedStore::new(inner.clone(), Keyring::new("k1".parse().unwrap(), &[8; KEY_BYTES]));
    let mut watch = wrong.watch(&Prefix::everything()).await.unwrap();
    let seen = wrong.get(&path("a/1")).await.unwrap().unwrap();
    let error = seen.document.text().unwrap_err();
    assert!(
        matches!(&error, Error::Failed { reason, .. } if reason.contains("k1") && reason.contains("a/1"))
    );
    assert_eq!(wrong.list_all(&Prefix::everything()).await.unwrap(), std::slice::from_ref(&seen));
    let Entry { version: same, document: unread, .. } = seen;
    let back = Write::Update { path: path("a/1"), version: same, document: unread.clone() };
    assert!(matches!(store.write_one(back).await, Err(Error::Invalid { .. })));
    assert_eq!(inner.get(&path("a/1")).await.unwrap(), before);
    let update =
        Write::Update { path: path("a/1"), version, document: Document::from_value(&document).unwrap() };
    let version = store.write_one(update).await.unwrap();
    assert_eq!(next(&mut watch).await, Change::Put(Entry { path: path("a/1"), version, document: unread }));
}

#[tokio::test]
async fn a_content_that_is_no_text_is_named_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = SqliteStore::open(&file).await.unwrap();
    for name in ["a/1", "a/2"] {
        store.write_one(create(name, &json!(1))).await.unwrap();
    }
    let damage = "PRAGMA ignore_check_constraints = 1; UPDATE documents SET document = CAST(x'ff' AS TEXT) WHERE path = 'a/1'";
    rusqlite::Connection::open(&file).unwrap().execute_batch(damage).unwrap();
    let all = store.list_all(&Prefix::everything()).await.unwrap();
    assert!(all[0].document.text().unwrap_err().to_string().contains("a/1"));
    assert_eq!(all[1].document.as_str(), "1");
}

#[tokio::test]
async fn a_row_without_a_version_is_named_and_one_without_a_path_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = SqliteStore::open(&file).await.unwrap();
    for name in ["a/0/x", "a/1", "a/2"] {
        store.write_one(create(name, &json!(1))).await.unwrap();
    }
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    let damage = "
        UPDATE documents SET version = -1 WHERE path = 'a/1';
        INSERT INTO documents VALUES ('a/0//x', 9, '{}'), (CAST(x'61ff' AS TEXT), 9, '{}'), ('a/1//x', 9, '{}');
        INSERT INTO changes SELECT 3 + row_number() OVER (), path FROM documents WHERE version IN (-1, 9);
        UPDATE counter SET version = 9";
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch(damage).unwrap();
    let damaged = store.get(&path("a/1")).await.unwrap().unwrap();
    assert_eq!(damaged.version, Version::UNREADABLE);
    assert!(damaged.document.text().unwrap_err().to_string().contains("a/1"));
    assert_eq!(next(&mut watch).await, Change::Put(damaged.clone()), "no watch is lost by it");
    assert_eq!(names(&store, &Prefix::everything(), 500).await, ["a/0/x", "a/1", "a/2"]);
    assert_eq!(names(&store, &Prefix::everything(), 1).await, ["a/0/x", "a/1", "a/2"]);
    assert_eq!(names(&store, &Prefix::below(&path("a/0")), 1).await, ["a/0/x"]);
    let delete = Write::Delete { path: path("a/1"), version: damaged.version };
    let (refused, beside) = futures::join!(store.write_one(delete), store.write_one(create("b", &json!(2))));
    let error = refused.unwrap_err();
    assert!(matches!(&error, Error::Failed { reason, .. } if reason.contains("a/1")), "{error:?}");
    let entry = Entry { path: path("b"), version: beside.unwrap(), document: Document::from_stored("2") };
    assert_eq!(next(&mut watch).await, Change::Put(entry));
    // What is removed by another tool can be made again.
    other.execute_batch("DELETE FROM documents WHERE version = -1").unwrap();
    store.write_one(create("a/1", &json!(3))).await.unwrap();
}

/// The paths of all documents below a prefix, read in pages of a size.
async fn names(store: &SqliteStore, prefix: &Prefix, limit: usize) -> Vec<String> {
    let (mut names, mut request) = (Vec::new(), PageRequest { after: None, limit: Some(limit) });
    loop {
        let page = store.list(prefix, &request).await.unwrap();
        names.extend(page.entries.iter().map(|entry| entry.path.to_string()));
        request.after = page.next;
        if request.after.is_none() {
            return names;
        }
    }
}

#[tokio::test]
async fn what_can_not_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    assert!(failure(&folder.path().join("none/store.db")).await.contains("can't be made"));
    assert!(failure(folder.path()).await.contains("can't be opened"));
    fs::write(&file, "no database at all ".repeat(100)).unwrap();
    assert!(failure(&file).await.contains("not a store"));
    fs::remove_file(&file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(failure(&file).await.contains("another program"));
    fs::remove_file(&file).unwrap();
    drop(SqliteStore::open(&file).await.unwrap());
    rusqlite::Connection::open(&file).unwrap().execute_batch("PRAGMA user_version = 2").unwrap();
    assert!(failure(&file).await.contains("newer version"));
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let store = SqliteStore::open(file.path()).await.unwrap();
    assert_eq!(store.write_one(create("a", &json!(1))).await.unwrap(), Version(1));
}

#[tokio::test]
async fn a_damaged_file_fails_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = SqliteStore::open(&file).await.unwrap();
    for number in 0..100 {
        store.write_one(create(&format!("{number:03}"), &json!("x".repeat(500)))).await.unwrap();
    }
    drop(store);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no log from which to read what was damaged");
    let mut bytes = fs::read(&file).unwrap();
    let pages = bytes.len() / 4096;
    bytes[3 * 4096..(pages - 1) * 4096].fill(0xA5);
    fs::write(&file, bytes).unwrap();
    let store = SqliteStore::open(&file).await.unwrap();
    let error = store.list_all(&Prefix::everything()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Failed { .. }), "{error:?}");
    assert!(text.contains("damaged") && text.contains(&file.display().to_string()), "{text}");
}

#[tokio::test]
async fn a_dropped_store_ends_its_watches() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).await.unwrap();
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    drop(store);
    assert_eq!(next(&mut watch).await, Change::Lost);
    assert_eq!(watch.next().await, None);
}
