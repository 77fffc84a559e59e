//! Keys that change in an installation.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use dcm_server::{Configuration, RekeyError, Rekeying, open_sealed, rekey};
use dcm_store::encrypted::{KeyFile, KeyringSource as _, RekeyError as StoreError};
use dcm_store::{EncryptedStore, MemoryStore};
use serde_json::{Value, json};

/// How long writes may be under way; and when one lands that was sent before the key was changed.
const SETTLE: Duration = Duration::from_secs(3);
const LATE: Duration = Duration::from_secs(1);

/// A document with a secret, and its content.
fn created(name: &str) -> (Write, Value) {
    let content = json!({"schema": 1, "key": {"$secret": "hunter2"}});
    let document = Document::from_value(&content).unwrap();
    (Write::Create { path: Path::new(name).unwrap(), document }, content)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sealed_before_the_key_changed_and_lands_late_can_be_read_when_earlier_keys_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let keys = folder.path().join("keys.json");
    let configuration = Configuration::new(url.clone(), keys.clone());
    let store = open_sealed(&url).await.unwrap();
    let (write, content) = created("late");
    let elsewhere = Arc::new(MemoryStore::new());
    let first = Arc::new(KeyFile::open_or_create(&keys).unwrap());
    EncryptedStore::with_keys(elsewhere.clone(), first).write_one(write.clone()).await.unwrap();
    let sealed = elsewhere.get(write.path()).await.unwrap().unwrap().document;

    let late = async {
        tokio::time::sleep(LATE).await;
        let path = write.path().clone();
        store.write_one(Write::Create { path, document: sealed }).await.unwrap();
    };
    let rekeying = Rekeying { new_key: true, forget_earlier: true, settle: SETTLE };
    let (report, ()) = futures::join!(rekey(&configuration, rekeying, |_| ()), late);
    let report = report.unwrap();
    assert_eq!((report.current.as_str(), report.forgotten), ("k2", vec!["k1".to_owned()]));
    let opened = EncryptedStore::with_keys(store, Arc::new(KeyFile::open(&keys).unwrap()));
    let read = opened.get(write.path()).await.unwrap().unwrap().document.read::<Value>().unwrap();
    assert_eq!(read, content);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_read_in_one_store_keeps_the_other_one_from_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let keys = folder.path().join("keys.json");
    let configuration = Configuration::new(url("documents.db"), keys.clone());
    let configuration = Configuration { contexts_store: Some(url("contexts.db").into()), ..configuration };
    let documents = open_sealed(configuration.store.as_str()).await.unwrap();
    let contexts = open_sealed(&url("contexts.db")).await.unwrap();
    let first = Arc::new(KeyFile::open_or_create(&keys).unwrap());
    EncryptedStore::with_keys(contexts.clone(), first).write_one(created("a").0).await.unwrap();
    let path = Path::new("damaged").unwrap();
    let document = Document::from_value(&json!({"$sealed": 7})).unwrap();
    documents.write_one(Write::Create { path, document }).await.unwrap();

    let rekeying = Rekeying { new_key: true, forget_earlier: true, settle: SETTLE };
    let refused = rekey(&configuration, rekeying, |_| ()).await.unwrap_err();
    assert!(matches!(&refused, RekeyError::Store(StoreError::Left { documents: 1, .. })), "{refused:?}");
    let kept = contexts.get(created("a").0.path()).await.unwrap().unwrap().document;
    assert!(kept.text().unwrap().contains(r#""key":"k2""#));
    let file = KeyFile::open(&keys).unwrap();
    let current = file.keyring(None).await.unwrap().current().clone();
    let earlier = file.forget_all_but(&current).unwrap();
    assert_eq!(earlier.len(), 1, "the key of what can't be read was forgotten");
}
