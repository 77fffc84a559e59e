//! A writer with plain access to the database, and without the keys, is found out wherever the documents lie: on a real etcd, a
//! real FerretDB, in SQLite and in memory.
#![allow(clippy::unwrap_used)]
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted"
))]

use std::sync::Arc;

use dcm_core::port::store::{
    Change, Document, Entry, Error, Path, Prefix, Store, StoreExt as _, Watch, Write,
};
use dcm_store::encrypted::{KEY_BYTES, KeysError, RekeyError, Rekeyed};
use dcm_store::{EncryptedStore, Keyring, MemoryStore};
use dcm_testenv::{Standalone, etcd_http};
use futures::StreamExt as _;
use mongodb::bson::{self, doc};
use proptest::prelude::*;
use serde_json::{Value, json};

fn path(text: &str) -> Path {
    Path::new(text).unwrap()
}

fn keyring() -> Keyring {
    Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES])
}

/// The keys after one was renewed.
fn renewed() -> Keyring {
    Keyring::new("k2".parse().unwrap(), &[8; KEY_BYTES]).with_earlier("k1".parse().unwrap(), &[7; KEY_BYTES])
}

fn created(name: &str, content: &Value) -> Write {
    Write::Create { path: path(name), document: Document::from_value(content).unwrap() }
}

/// A cluster's record, as far as it matters here.
fn cluster(name: &str) -> Value {
    json!({"schema": 1, "name": name, "kubeconfig": {"$secret": format!("kubeconfig of {name}")}})
}

/// Two clusters and a role, and what else is read beside them.
async fn filled<S: Store + ?Sized>(kept: &Arc<S>) -> EncryptedStore<S> {
    let store = EncryptedStore::new(kept.clone(), keyring());
    for name in ["edge", "core", "other"] {
        store.write_one(created(&format!("clusters/{name}"), &cluster(name))).await.unwrap();
    }
    store.write_one(created("roles/ops", &json!({"schema": 1, "subjects": ["ann"]}))).await.unwrap();
    store
}

/// Writes a document below the wrapper, without its keys.
async fn put<S: Store + ?Sized>(kept: &Arc<S>, name: &str, text: &str) {
    let version = kept.get(&path(name)).await.unwrap().unwrap().version;
    let document = Document::from_stored(text);
    kept.write_one(Write::Update { path: path(name), version, document }).await.unwrap();
}

async fn text<S: Store + ?Sized>(kept: &Arc<S>, name: &str) -> String {
    kept.get(&path(name)).await.unwrap().unwrap().document.as_str().to_owned()
}

/// Why a document can't be read, by each way that leads to it; all others are read as ever.
async fn refused<S: Store + ?Sized>(store: &EncryptedStore<S>, names: &[&str]) -> Vec<String> {
    let mut reasons = Vec::new();
    for entry in store.list_all(&Prefix::everything()).await.unwrap() {
        assert_eq!(store.get(&entry.path).await.unwrap().as_ref(), Some(&entry));
        match entry.document.text() {
            Ok(text) => {
                assert!(!names.contains(&entry.path.as_str()), "{} is taken: {text}", entry.path);
                assert!(text.contains("\"schema\":1") && !text.contains("$mac"), "{text}");
            }
            Err(error) => {
                assert!(names.contains(&entry.path.as_str()), "{error}");
                assert!(
                    matches!(error, Error::Failed { .. }) && error.to_string().contains(entry.path.as_str())
                );
                reasons.push(error.to_string());
            }
        }
    }
    assert_eq!(reasons.len(), names.len(), "{reasons:?}");
    reasons
}

/// The next change that a watch shows of a document.
async fn shown(watch: &mut Watch, name: &str) -> Entry {
    loop {
        match watch.next().await {
            Some(Change::Put(entry)) if entry.path.as_str() == name => return entry,
            Some(_) => {}
            None => panic!("the watch ended"),
        }
    }
}

/// All attacks, one after the other, by a writer who puts texts in the place of documents with the database's own means.
async fn attacked<S: Store + ?Sized>(kept: &Arc<S>, put: impl AsyncFn(&str, &str)) {
    let store = filled(kept).await;
    swapped(kept, &store, &put).await;
    edited(kept, &store, &put).await;
    let edge = text(kept, "clusters/edge").await;
    // The sealed kubeconfig becomes a clear one that runs a program, with the MAC as it was and without.
    let mut forged: Value = serde_json::from_str(&edge).unwrap();
    forged.as_object_mut().unwrap().remove("$mac").unwrap();
    forged["kubeconfig"] = json!({"$secret": "users: [{user: {exec: {command: /bin/sh}}}]"});
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    let forged = forged.to_string();
    let with_mac = forged.strip_suffix('}').unwrap().to_owned() + &edge[edge.rfind(",\"$mac\":").unwrap()..];
    put("clusters/edge", &with_mac).await;
    assert!(shown(&mut watch, "clusters/edge").await.document.text().is_err());
    assert!(refused(&store, &["clusters/edge"]).await[0].contains("does not match"));
    put("clusters/edge", &forged).await;
    assert!(refused(&store, &["clusters/edge"]).await[0].contains("has no MAC"));
    is_replaced(&store, "clusters/edge").await;
}

async fn swapped<S: Store + ?Sized>(
    kept: &Arc<S>,
    store: &EncryptedStore<S>,
    put: &impl AsyncFn(&str, &str),
) {
    let [edge, core] = [text(kept, "clusters/edge").await, text(kept, "clusters/core").await];
    put("clusters/edge", &core).await;
    put("clusters/core", &edge).await;
    let reasons = refused(store, &["clusters/core", "clusters/edge"]).await;
    assert!(reasons.iter().all(|reason| reason.contains("does not match")), "{reasons:?}");
    put("clusters/edge", &edge).await;
    put("clusters/core", &core).await;
    refused(store, &[]).await;
}

/// A document without secrets, which could be read and written by any client.
async fn edited<S: Store + ?Sized>(kept: &Arc<S>, store: &EncryptedStore<S>, put: &impl AsyncFn(&str, &str)) {
    let role = text(kept, "roles/ops").await;
    assert!(role.contains("\"$mac\":{\"key\":\"k1\"") && !role.contains("$sealed"), "{role}");
    let without_mac = json!({"schema": 1, "subjects": ["eve"]}).to_string();
    for forged in [role.replace("ann", "eve"), without_mac] {
        put("roles/ops", &forged).await;
        refused(store, &["roles/ops"]).await;
    }
    put("roles/ops", &role).await;
    let copy = Document::from_stored(role);
    kept.write_one(Write::Create { path: path("roles/copy"), document: copy }).await.unwrap();
    refused(store, &["roles/copy"]).await;
    is_replaced(store, "roles/copy").await;
}

/// A document that can't be read is replaced and deleted like any other.
async fn is_replaced<S: Store + ?Sized>(store: &EncryptedStore<S>, name: &str) {
    let path = path(name);
    let version = store.write_one(update(store, name).await).await.unwrap();
    refused(store, &[]).await;
    store.write_one(Write::Delete { path, version }).await.unwrap();
}

#[tokio::test]
async fn a_writer_without_the_keys_is_found_out_in_memory() {
    let kept = Arc::new(MemoryStore::new());
    attacked(&kept, async |name, text| put(&kept, name, text).await).await;
}

#[tokio::test]
async fn a_writer_without_the_keys_is_found_out_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let kept = dcm_store::open(&format!("sqlite:{}", file.display())).await.unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    let put = async |name: &str, text: &str| {
        let [update, count, note] = [
            "UPDATE documents SET document = ?2, version = 1 + (SELECT version FROM counter) WHERE path = ?1",
            "UPDATE counter SET version = version + 1",
            "INSERT INTO changes SELECT version, ?1 FROM counter",
        ];
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(database.execute(update, (name, text)).unwrap(), 1);
        database.execute(count, ()).unwrap();
        database.execute(note, (name,)).unwrap();
        database.execute_batch("COMMIT").unwrap();
    };
    attacked(&kept, put).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_without_the_keys_is_found_out_in_etcd() {
    let server = Standalone::etcd().await.unwrap();
    let kept = dcm_store::open(&format!("etcd://{}?timeout=60", server.address())).await.unwrap();
    let put = async |name: &str, text: &str| {
        etcd_http::put(&server, &format!("dcm/{name}"), text.as_bytes()).unwrap();
    };
    attacked(&kept, put).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_without_the_keys_is_found_out_in_mongodb() {
    let server = Standalone::mongodb().await.unwrap();
    let url = format!("mongodb://{}", server.address());
    let kept = dcm_store::open(&format!("{url}?timeout=60")).await.unwrap();
    let client = mongodb::Client::with_uri_str(&url).await.unwrap();
    let records = client.database("dcm").collection::<bson::Document>("DCM");
    let change = async |name: &str, mut change: bson::Document| {
        change.extend(
            doc! { "$inc": { "version": 1_i64 }, "$currentDate": { "changed": { "$type": "timestamp" } } },
        );
        assert_eq!(records.update_one(doc! { "_id": name }, change).await.unwrap().modified_count, 1);
    };
    attacked(&kept, async |name, text| {
        change(name, doc! { "$set": { "text": text }, "$unset": { "document": "" } }).await;
    })
    .await;
    // The same field by field, as `mongosh` does it.
    let store = EncryptedStore::new(kept, keyring());
    let clear = doc! { "$set": { "document": { "schema": 1, "kubeconfig": { "%24secret": "exec" } } } };
    change("clusters/other", clear).await;
    refused(&store, &["clusters/other"]).await;
    store.write_one(update(&store, "clusters/other").await).await.unwrap();
    store.write_one(created("roles/dev", &json!({"schema": 1, "subjects": ["ann"]}))).await.unwrap();
    change("roles/dev", doc! { "$set": { "document.subjects": ["eve"] } }).await;
    change("clusters/other", doc! { "$unset": { "document.%24mac": "" } }).await;
    refused(&store, &["clusters/other", "roles/dev"]).await;
}

#[tokio::test]
async fn a_mac_of_an_earlier_key_holds_until_all_is_signed_anew() {
    let kept = Arc::new(MemoryStore::new());
    filled(&kept).await;
    put(&kept, "clusters/other", r#"{"schema":1,"forged":true}"#).await;
    let store = EncryptedStore::new(kept.clone(), renewed());
    refused(&store, &["clusters/other"]).await;
    let error = store.rekey(|_| ()).await.unwrap_err();
    let RekeyError::Left { documents: 1, first } = error else { panic!("{error:?}") };
    assert!(first.to_string().contains("clusters/other"), "{first}");
    // It does not sign what has no MAC.
    refused(&store, &["clusters/other"]).await;
    store.write_one(update(&store, "clusters/other").await).await.unwrap();
    assert_eq!(store.rekey(|_| ()).await.unwrap(), Rekeyed { documents: 4, resealed: 0 });
    for name in ["clusters/edge", "roles/ops"] {
        assert!(text(&kept, name).await.contains("\"$mac\":{\"key\":\"k2\""), "{name}");
    }
    refused(&EncryptedStore::new(kept, Keyring::new("k2".parse().unwrap(), &[8; KEY_BYTES])), &[]).await;
}

/// Otherwise a client without the keys could have the earlier ones removed, which the backup of that document needs.
#[tokio::test]
async fn a_forged_document_that_names_the_current_key_keeps_the_earlier_keys() {
    let kept = Arc::new(MemoryStore::new());
    filled(&kept).await;
    let store = EncryptedStore::new(kept.clone(), renewed());
    for name in ["clusters/other", "roles/ops"] {
        let forged = text(&kept, name).await.replace("\"key\":\"k1\"", "\"key\":\"k2\"");
        put(&kept, name, &forged).await;
    }
    let error = store.rekey(|_| ()).await.unwrap_err();
    let RekeyError::Left { documents: 2, first } = error else { panic!("{error:?}") };
    assert!(first.to_string().contains("clusters/other"), "{first}");
}

async fn update<S: Store + ?Sized>(store: &EncryptedStore<S>, name: &str) -> Write {
    let Entry { path, version, .. } = store.get(&path(name)).await.unwrap().unwrap();
    Write::Update { path, version, document: Document::from_value(&json!({"schema": 1})).unwrap() }
}

#[tokio::test]
async fn documents_without_secrets_tell_wrong_keys_too() {
    let kept = Arc::new(MemoryStore::new());
    EncryptedStore::new(kept.clone(), keyring())
        .write_one(created("a", &json!({"schema": 1})))
        .await
        .unwrap();
    assert!(dcm_store::encrypted::is_sealed(&*kept).await.unwrap());
    let other = EncryptedStore::new(kept, Keyring::new("k1".parse().unwrap(), &[9; KEY_BYTES]));
    assert!(matches!(other.check_keys().await, Err(KeysError::Wrong(_))));
}

/// JSON of any kind.
fn value() -> impl Strategy<Value = Value> {
    let name =
        prop_oneof!["[a-z.$%]{0,6}", Just("$mac".to_owned()), Just("$value".to_owned()), any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 20, 4, move |inner| {
        let members = prop::collection::btree_map(name.clone(), inner.clone(), 0..4);
        let object = members.prop_map(|members| members.into_iter().collect::<Value>());
        prop_oneof![object, prop::collection::vec(inner, 0..3).prop_map(Into::into)]
    })
}

proptest! {
    #[test]
    fn no_byte_of_a_kept_document_can_be_changed(value in value(), place in any::<prop::sample::Index>(), byte in 0x20_u8..0x7f) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let kept = Arc::new(MemoryStore::new());
            let store = EncryptedStore::new(kept.clone(), keyring());
            let document = Document::from_value(&value).unwrap();
            store.write_one(Write::Create { path: path("a"), document: document.clone() }).await.unwrap();
            prop_assert_eq!(&store.get(&path("a")).await.unwrap().unwrap().document, &document);
            let original = text(&kept, "a").await;
            let mut forged = original.clone().into_bytes();
            let place = place.index(forged.len());
            forged[place] = byte;
            let Ok(forged) = String::from_utf8(forged) else { return Ok(()) };
            prop_assume!(forged != original);
            put(&kept, "a", &forged).await;
            prop_assert!(store.get(&path("a")).await.unwrap().unwrap().document.text().is_err(), "{}", forged);
            Ok(())
        })?;
    }
}
