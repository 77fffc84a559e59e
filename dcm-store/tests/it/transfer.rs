//! Documents from each backend into each other one.
#![allow(clippy::unwrap_used)]
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted"
))]

use std::convert::Infallible;
use std::sync::Arc;

use dcm_core::port::store::{Document, Path, Prefix, Store, StoreExt as _, Write};
use dcm_store::encrypted::{KEY_BYTES, KeysError};
use dcm_store::transfer::{ExportError, ImportError, export, import};
use dcm_store::{EncryptedStore, Keyring, MemoryStore};
use dcm_testenv::Standalone;
use futures::{StreamExt as _, TryStreamExt as _, stream};

/// Documents as they are used, and some that only the contract allows.
const DOCUMENTS: [(&str, &str); 7] = [
    ("a/names with space", r#"{"a.b":{"$x":[1,2.50,{"_id":null}]},"big":18446744073709551615}"#),
    ("a", "\"text with \\n and ü\""),
    ("b/lines", "{\n  \"a\": 1\n}"),
    ("b/twice", r#"{"a":1,"a":2}"#),
    ("b/nested", "[[1],[[2]]]"),
    ("empty", "{}"),
    ("z/ü", "null"),
];

fn creation(path: &str, text: &str) -> Write {
    Write::Create { path: Path::new(path).unwrap(), document: Document::from_stored(text) }
}

fn keyring() -> Keyring {
    Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES])
}

async fn filled(store: &Arc<dyn Store>) {
    for (path, text) in DOCUMENTS {
        store.write_one(creation(path, text)).await.unwrap();
    }
    let many: Vec<Write> = (0..520)
        .map(|number| creation(&format!("many/{number:03}"), &format!("{{\"n\":{number}}}")))
        .collect();
    for batch in many.chunks(100) {
        store.write(batch).await.unwrap();
    }
    let encrypted = EncryptedStore::new(store.clone(), keyring());
    encrypted.write_one(creation("secrets/a", r#"{"key":{"$secret":"hunter2"}}"#)).await.unwrap();
}

async fn contents(store: &dyn Store) -> Vec<(Path, Document)> {
    let entries = store.list_all(&Prefix::everything()).await.unwrap();
    entries.into_iter().map(|entry| (entry.path, entry.document)).collect()
}

async fn exported(store: &dyn Store) -> String {
    export(store).try_collect().await.unwrap()
}

fn lines(text: &str) -> impl futures::Stream<Item = Result<String, Infallible>> + Send {
    let lines: Vec<_> = text.lines().map(|line| Ok(line.to_owned())).collect();
    stream::iter(lines)
}

async fn imported(store: &dyn Store, text: &str) -> Result<u64, ImportError<Infallible>> {
    import(store, lines(text), |_| ()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_each_backend_is_imported_into_each_other_one() {
    let folder = tempfile::tempdir().unwrap();
    let (etcd, mongodb) = (Standalone::etcd().await.unwrap(), Standalone::mongodb().await.unwrap());
    let url = |scheme: &str, name: &str| match scheme {
        "memory" => "memory:".to_owned(),
        "sqlite" => format!("sqlite:{}/{name}.db", folder.path().display()),
        "etcd" => format!("etcd://{}/{name}?timeout=60", etcd.address()),
        _ => format!("mongodb://{}/{name}?timeout=60", mongodb.address()),
    };
    let open = async |scheme: &str, name: &str| dcm_store::open(&url(scheme, name)).await.unwrap();
    let first: Arc<dyn Store> = Arc::new(MemoryStore::new());
    filled(&first).await;
    let (whole, documents) = (exported(&*first).await, contents(&*first).await);
    for scheme in ["memory", "sqlite", "etcd", "mongodb"] {
        let store = open(scheme, "first").await;
        assert_eq!(imported(&*store, &whole).await.unwrap(), documents.len() as u64, "{scheme}");
        assert_eq!(contents(&*store).await, documents, "{scheme}");
        assert_eq!(exported(&*store).await, whole, "{scheme}");
        assert_eq!(imported(&*store, &whole).await.unwrap(), documents.len() as u64, "{scheme}, once more");
        let opened =
            EncryptedStore::new(store, keyring()).get(&Path::new("secrets/a").unwrap()).await.unwrap();
        assert_eq!(opened.unwrap().document.as_str(), r#"{"key":{"$secret":"hunter2"}}"#, "{scheme}");
    }
    assert!(!whole.contains("hunter2"));
}

#[tokio::test]
async fn an_import_that_was_cut_off_goes_on_and_writes_nothing_over() {
    let first: Arc<dyn Store> = Arc::new(MemoryStore::new());
    filled(&first).await;
    let whole = exported(&*first).await;
    let store = MemoryStore::new();
    let cut: String = whole.lines().take(300).map(|line| format!("{line}\n")).collect();
    let error = imported(&store, &cut).await.unwrap_err();
    assert!(matches!(error, ImportError::CutOff { documents: 299 }), "{error:?}");
    assert_eq!(contents(&store).await.len(), 299);
    imported(&store, &whole).await.unwrap();
    assert_eq!(contents(&store).await, contents(&*first).await);

    let path = Path::new("empty").unwrap();
    let version = store.get(&path).await.unwrap().unwrap().version;
    let other = Document::from_stored("[]");
    store.write_one(Write::Update { path: path.clone(), version, document: other.clone() }).await.unwrap();
    let error = imported(&store, &whole).await.unwrap_err();
    assert!(matches!(&error, ImportError::Exists { path: at } if *at == path), "{error:?}");
    assert_eq!(store.get(&path).await.unwrap().unwrap().document, other);
}

#[tokio::test]
async fn what_is_no_export_is_refused_with_its_line_and_changes_nothing_but_by_the_lines_before() {
    let store = Arc::new(MemoryStore::new());
    EncryptedStore::new(store.clone(), keyring()).note_keys().await.unwrap();
    let there = contents(&*store).await;
    let refused = async |text: &str, line: u64| {
        let error = imported(&*store, text).await.unwrap_err();
        assert!(matches!(error, ImportError::Malformed { line: at, .. } if at == line), "{text}: {error:?}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    };
    for (text, line) in [
        ("{}", 1),
        ("{\"path\":\"a\",\"document\":1}", 1),
        ("{\"dcmStoreExport\":2}", 1),
        ("{\"dcmStoreExport\":1}\nhunter2", 2),
        ("{\"dcmStoreExport\":1}\n{\"path\":\"a//b\",\"document\":1}", 2),
        ("{\"dcmStoreExport\":1}\n{\"path\":\"a\",\"document\":1,\"more\":1}", 2),
        ("{\"dcmStoreExport\":1}\n{\"dcmStoreExport\":1}", 2),
        ("{\"dcmStoreExport\":1}\n{\"end\":0}\n{\"end\":0}", 3),
    ] {
        refused(text, line).await;
    }
    let counted_wrong = "{\"dcmStoreExport\":1}\n{\"end\":3}";
    assert!(matches!(imported(&*store, counted_wrong).await, Err(ImportError::CutOff { documents: 0 })));
    assert_eq!(contents(&*store).await, there);
    let not_in_order =
        "{\"dcmStoreExport\":1}\n{\"path\":\"b\",\"document\":1}\n{\"path\":\"a\",\"document\":1}";
    refused(not_in_order, 3).await;
    let paths: Vec<String> = contents(&*store).await.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, ["b"]);
}

#[tokio::test]
async fn a_secret_in_clear_is_not_exported() {
    let store = MemoryStore::new();
    store.write_one(creation("a", r#"{"$secret":"hunter2"}"#)).await.unwrap();
    let lines: Vec<_> = export(&store).collect().await;
    assert!(matches!(lines.last(), Some(Err(ExportError::ClearSecret { path })) if path.as_str() == "a"));
    assert!(!format!("{lines:?}").contains("hunter2"));
}

#[tokio::test]
async fn what_was_imported_opens_with_its_own_keys_whatever_was_noted_where_it_went() {
    let first: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let encrypted = |store: &Arc<dyn Store>, key: u8| {
        EncryptedStore::new(store.clone(), Keyring::new("k1".parse().unwrap(), &[key; KEY_BYTES]))
    };
    encrypted(&first, 7).note_keys().await.unwrap();
    filled(&first).await;
    let whole = exported(&*first).await;
    assert!(!whole.contains("sealed-with"));

    for noted in [7, 8] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        encrypted(&store, noted).note_keys().await.unwrap();
        imported(&*store, &whole).await.unwrap();
        imported(&*store, &whole).await.unwrap();
        assert!(matches!(encrypted(&store, 8).note_keys().await, Err(KeysError::Wrong(_))), "{noted}");
        encrypted(&store, 7).note_keys().await.unwrap();
        assert_eq!(exported(&*store).await, whole, "{noted}");
    }
}
