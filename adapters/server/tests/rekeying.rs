//! Keys that change in an installation.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use dcm_server::{Configuration, Rekeying, open_sealed, rekey};
use dcm_store::encrypted::KeyFile;
use dcm_store::{EncryptedStore, MemoryStore};
use serde_json::{Value, json};

/// How long writes may be under way; and when one lands that was sent before the key was changed.
const SETTLE: Duration = Duration::from_secs(3);
const LATE: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sealed_before_the_key_changed_and_lands_late_can_be_read_when_earlier_keys_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let keys = folder.path().join("keys.json");
    let configuration = Configuration::new(url.clone(), keys.clone());
    let store = open_sealed(&url).await.unwrap();
    let content = json!({"schema": 1, "key": {"$secret": "hunter2"}});
    let write =
        Write::Create { path: Path::new("late").unwrap(), document: Document::from_value(&content).unwrap() };
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
