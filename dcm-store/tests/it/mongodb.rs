//! What only MongoDB does: records that people read, deleted documents, TLS, a server that dies, and what others put beside ours.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "mongodb")]

use crate::documents;

use std::time::Duration;

use dcm_core::port::room::Room;
use dcm_core::port::store::{
    Change, Document, Entry, Error, PageRequest, Prefix, Store as _, StoreExt as _, Version, Watch, Write,
};
use dcm_store::mongodb::Location;
use dcm_store::{MongoDbStore, OpenError};
use dcm_testenv::Standalone;
use dcm_testenv::effort::patience;
use futures::StreamExt as _;
use mongodb::bson::{self, Bson, doc};
use serde_json::json;

use self::documents::{answered, create, path, words};

fn url(server: &Standalone) -> String {
    format!("mongodb://{}", server.address())
}

async fn open(server: &Standalone) -> MongoDbStore {
    MongoDbStore::open(&Location::at(url(server))).await.unwrap()
}

/// The collection as any client of MongoDB sees it.
async fn records(server: &Standalone) -> mongodb::Collection<bson::Document> {
    mongodb::Client::with_uri_str(url(server)).await.unwrap().database("dcm").collection("DCM")
}

#[tokio::test]
async fn a_record_is_readable_and_names_with_dots_and_dollar_signs_survive() {
    let server = Standalone::mongodb().await.unwrap();
    let store = open(&server).await;
    let quota = serde_json::json!({ "schema": 1, "hard": { "limits.cpu": "4", "$x": [{ "a.b": null }] } });
    let document = Document::from_value(&quota).unwrap();
    let creation = Write::Create { path: path("quotas/p/c"), document: document.clone() };
    let version = store.write_one(creation).await.unwrap();
    assert_eq!(store.get(&path("quotas/p/c")).await.unwrap().unwrap().document, document);
    let record = records(&server).await.find_one(doc! { "_id": "quotas/p/c" }).await.unwrap().unwrap();
    assert_eq!(record.get_i64("version").unwrap(), i64::try_from(version.0).unwrap());
    assert!(record.get_timestamp("changed").is_ok());
    let fields = doc! { "schema": 1, "hard": { "limits%2Ecpu": "4", "%24x": [{ "a%2Eb": Bson::Null }] } };
    assert_eq!(record.get_document("document").unwrap(), &fields);
    assert_eq!(record.keys().cloned().collect::<Vec<_>>().len(), 4, "{record:?}");
}

#[tokio::test]
async fn a_collection_has_the_indexes_that_are_asked_by_and_no_others() {
    let server = Standalone::mongodb().await.unwrap();
    drop(open(&server).await);
    let client = mongodb::Client::with_uri_str(url(&server)).await.unwrap();
    let listed = client.database("dcm").run_command(doc! { "listIndexes": "DCM" }).await.unwrap();
    let listed = listed.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
    // As text, in which the order of an index's keys counts. This server does not say which ones are sparse.
    let mut indexes: Vec<String> = listed.iter().map(ToString::to_string).collect();
    indexes.sort();
    let kind = doc! { "kind": 1, "project": 1, "logicalCloud": 1 };
    let expected = [
        ("_id_", doc! { "_id": 1 }),
        ("changed", doc! { "changed": 1 }),
        ("deleted", doc! { "deleted": 1 }),
        ("kind", kind),
    ];
    let expected = expected.map(|(name, key)| doc! { "v": 2, "key": key, "name": name }.to_string());
    assert_eq!(indexes, expected);
}

#[tokio::test]
async fn a_record_has_the_keys_of_its_path_as_fields_where_its_room_is_known() {
    let server = Standalone::mongodb().await.unwrap();
    let keys = &["project", "logicalCloud", "name"];
    let room = Room { name: "quotas", keys, holds: "a quota" };
    let store = dcm_store::open_with_rooms(&url(&server), &[room]).await.unwrap();
    let version = create(&*store, "quotas/p/c/q").await.unwrap();
    create(&*store, "other/p/c/q").await.unwrap();
    let records = records(&server).await;
    let expected = doc! { "kind": "quotas", "project": "p", "logicalCloud": "c", "name": "q" };
    let found = records.find_one(expected.clone()).await.unwrap().unwrap();
    assert_eq!(found.get_str("_id").unwrap(), "quotas/p/c/q");
    assert_eq!(records.count_documents(doc! { "project": "p" }).await.unwrap(), 1);
    let document = Document::from_value(&json!(2)).unwrap();
    store.write_one(Write::Update { path: path("quotas/p/c/q"), version, document }).await.unwrap();
    assert!(records.find_one(expected).await.unwrap().is_some(), "also after a change");
}

#[tokio::test]
async fn what_was_deleted_is_forgotten_when_it_is_old_and_its_versions_go_on() {
    let server = Standalone::mongodb().await.unwrap();
    let store = open(&server).await;
    let records = records(&server).await;
    let mut last = Version(0);
    for _ in 0..3 {
        let version = create(&store, "a").await.unwrap();
        assert!(version > last);
        store.write_one(Write::Delete { path: path("a"), version }).await.unwrap();
        last = version;
        assert_eq!(store.get(&path("a")).await.unwrap(), None);
        let record = records.find_one(doc! { "_id": "a" }).await.unwrap().unwrap();
        assert!(record.get_datetime("deleted").is_ok() && !record.contains_key("document"), "{record:?}");
    }
    // A deletion after that time clears it away.
    let location = Location { deleted_kept: Duration::from_millis(50), ..Location::at(url(&server)) };
    let store = MongoDbStore::open(&location).await.unwrap();
    let clear = async {
        while records.find_one(doc! { "_id": "a" }).await.unwrap().is_some() {
            let version = create(&store, "b").await.unwrap();
            store.write_one(Write::Delete { path: path("b"), version }).await.unwrap();
        }
    };
    tokio::time::timeout(patience(), clear).await.unwrap();
    assert!(create(&store, "a").await.unwrap() > last);
}

#[tokio::test]
async fn a_watch_ends_as_lost_when_its_server_dies_or_falls_silent() {
    let server = Standalone::mongodb().await.unwrap();
    let store = open(&server).await;
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    server.kill();
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    assert_eq!((told, watch.next().await), (Some(Change::Lost), None));
    assert!(matches!(create(&store, "a").await, Err(Error::Unavailable { .. })));
    server.start().await.unwrap();
    let mut watch = answered(async || store.watch(&Prefix::everything()).await).await;
    answered(async || create(&store, "b").await).await;
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    assert!(matches!(told, Some(Change::Put(entry)) if entry.path == path("b")));
    // On a busy machine an answer may take longer than this one waits for it.
    let location = Location { timeout: Duration::from_secs(2), ..Location::at(url(&server)) };
    let store = answered(async || MongoDbStore::open(&location).await).await;
    let mut watch = answered(async || store.watch(&Prefix::everything()).await).await;
    server.freeze();
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    assert_eq!(told, Some(Change::Lost));
    let silent = tokio::time::timeout(patience(), store.get(&path("b"))).await.unwrap();
    assert!(matches!(silent, Err(Error::Unavailable { .. })), "{silent:?}");
    server.thaw();
    assert!(answered(async || store.get(&path("b")).await).await.is_some());
}

/// The runtime of this test has one thread, which stands still as that of a process that is stopped.
#[tokio::test]
async fn a_watch_tells_what_was_written_while_its_process_stood_still_for_long() {
    let server = Standalone::mongodb().await.unwrap();
    let store = open(&server).await;
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    let location = Location::at(url(&server));
    let other = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = MongoDbStore::open(&location).await.unwrap();
            create(&store, "a").await.unwrap();
            // Longer than what is written may be seen late.
            tokio::time::sleep(Duration::from_secs(8)).await;
        });
    });
    other.join().unwrap();
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    assert!(matches!(&told, Some(Change::Put(entry)) if entry.path == path("a")), "{told:?}");
}

#[tokio::test]
async fn tls_needs_the_authority() {
    let server = Standalone::mongodb_with_tls().await.unwrap();
    let other = Standalone::mongodb_with_tls().await.unwrap();
    let with = |authority: &Standalone| {
        format!("{}/?tls=true&tlsCAFile={}&timeout=3", url(&server), authority.authority().display())
    };
    let store = dcm_store::open(&with(&server)).await.unwrap();
    create(&*store, "a").await.unwrap();
    for refused in [with(&other), format!("{}/?timeout=3", url(&server))] {
        let error = dcm_store::open(&refused).await.err().unwrap();
        assert!(matches!(error, OpenError::Store(Error::Unavailable { .. })), "{refused}: {error:?}");
    }
    let text = words(&dcm_store::open(&with(&other)).await.err().unwrap());
    assert!(text.contains("certificate"), "{text}");
    let missing = format!("{}/?tls=true&tlsCAFile=/nowhere/ca.pem", url(&server));
    let text = words(&dcm_store::open(&missing).await.err().unwrap());
    assert!(text.contains("No such file"), "{text}");
}

#[tokio::test]
async fn what_can_not_be_reached_or_understood_is_named_without_the_password() {
    let server = Standalone::mongodb().await.unwrap();
    let address = server.address();
    server.kill();
    for (url, named) in [
        (format!("mongodb://me:p%40ss@{address}/?timeout=1"), address.to_string()),
        (format!("mongodb://me:p%40ss@{address}/?authMechanism=MINE"), "MINE".to_owned()),
        (format!("mongodb://me:p@ss@{address}/"), "password".to_owned()),
    ] {
        let error = dcm_store::open(&url).await.err().unwrap();
        let text = format!("{} {error:?}", words(&error));
        assert!(text.contains(&named) && !text.contains("p@ss") && !text.contains("p%40ss"), "{text}");
    }
}

#[tokio::test]
async fn what_is_damaged_is_named_what_is_foreign_is_passed_over_and_the_rest_goes_on() {
    let server = Standalone::mongodb().await.unwrap();
    let store = open(&server).await;
    create(&store, "ours/a").await.unwrap();
    for foreign in [doc! { "_id": "theirs/b", "x": 1 }, doc! { "_id": "theirs//a" }, doc! { "_id": 7 }] {
        records(&server).await.insert_one(foreign).await.unwrap();
    }
    let damaged = store.get(&path("theirs/b")).await.unwrap().unwrap();
    let error = damaged.document.text().unwrap_err();
    assert!(matches!(&error, Error::Failed { .. }) && error.to_string().contains("theirs/b"), "{error}");
    assert!(matches!(create(&store, "theirs/b").await, Err(Error::Failed { .. })));
    create(&store, "ours/b").await.unwrap();
    let page = PageRequest { after: Some(path("ours/b")), limit: Some(1) };
    let page = store.list(&Prefix::everything(), &page).await.unwrap();
    assert_eq!(page.entries, [damaged], "what is no path is not counted");
    let all = store.list_all(&Prefix::everything()).await.unwrap();
    let paths: Vec<&str> = all.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["ours/a", "ours/b", "theirs/b"]);
}

#[tokio::test]
async fn a_record_without_a_version_is_written_by_nobody_until_it_is_removed() {
    let server = Standalone::mongodb().await.unwrap();
    let store = open(&server).await;
    let records = records(&server).await;
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    for damage in [Bson::from("5"), Bson::from(0_i64), Bson::from(-1_i64), Bson::Null] {
        let created = create(&store, "a").await.unwrap();
        until_told(&mut watch, created).await;
        let damaged =
            doc! { "$set": { "version": &damage }, "$currentDate": { "changed": { "$type": "timestamp" } } };
        records.update_one(doc! { "_id": "a" }, damaged).await.unwrap();
        let told = until_told(&mut watch, Version::UNREADABLE).await;
        assert_eq!(store.get(&path("a")).await.unwrap(), Some(told));
        let document = Document::from_stored("{}");
        let mut writes = vec![Write::Create { path: path("a"), document: document.clone() }];
        for version in [Version::UNREADABLE, created, Version(u64::MAX)] {
            writes.push(Write::Update { path: path("a"), version, document: document.clone() });
            writes.push(Write::Delete { path: path("a"), version });
        }
        for write in writes {
            let refused = store.write_one(write.clone()).await.unwrap_err();
            let reason = refused.to_string();
            assert!(
                matches!(refused, Error::Failed { .. }) && reason.contains("version of a can't"),
                "{damage:?}, {write:?}: {refused:?}"
            );
        }
        records.delete_one(doc! { "_id": "a" }).await.unwrap();
    }
    create(&store, "a").await.unwrap();
}

/// Reads until a document is told in this version.
async fn until_told(watch: &mut Watch, version: Version) -> Entry {
    loop {
        match tokio::time::timeout(patience(), watch.next()).await.unwrap() {
            Some(Change::Put(entry)) if entry.version == version => return entry,
            Some(Change::Put(_) | Change::Deleted(_)) => {}
            lost => panic!("{lost:?}"),
        }
    }
}

#[tokio::test]
async fn a_collection_has_the_name_that_the_url_says() {
    let server = Standalone::mongodb().await.unwrap();
    let [one, other] = ["One", "Other"].map(|name| format!("{}/tenants?collection={name}", url(&server)));
    let (one, other) = (dcm_store::open(&one).await.unwrap(), dcm_store::open(&other).await.unwrap());
    create(&*one, "a").await.unwrap();
    assert_eq!(other.get(&path("a")).await.unwrap(), None);
    let client = mongodb::Client::with_uri_str(url(&server)).await.unwrap();
    let mut names = client.database("tenants").list_collection_names().await.unwrap();
    names.sort();
    assert_eq!(names, ["One", "Other"]);
}
