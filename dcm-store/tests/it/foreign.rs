//! A file or a collection that is not as the store makes it is not opened, and the error names what is not the store's.
#![allow(clippy::unwrap_used)]
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted"
))]

use std::path::Path as FilePath;

use dcm_core::port::store::{Document, Error, Store as _, StoreExt as _, Write};
use dcm_store::mongodb::Location;
use dcm_store::{MongoDbStore, SqliteStore};
use dcm_testenv::Standalone;
use mongodb::bson::{self, doc};
use rusqlite::Connection;
use serde_json::json;

use crate::documents::{create, path};
use crate::relay::Relay;

async fn refused(file: &FilePath) -> String {
    let [opened, existing] =
        [SqliteStore::open(file).await.err(), SqliteStore::open_existing(file).await.err()];
    let (Some(Error::Failed { reason, .. }), Some(other)) = (&opened, &existing) else {
        panic!("{opened:?} {existing:?}")
    };
    assert_eq!(other.to_string(), format!("the store failed: {reason}"));
    assert!(
        reason.starts_with(&format!("{}: the file's tables are not those of a store: ", file.display())),
        "{reason}"
    );
    reason.clone()
}

/// Makes the table of documents anew, with other words for it.
fn remade(from: &str, to: &str) -> String {
    let table = "CREATE TABLE documents (
        path TEXT NOT NULL PRIMARY KEY COLLATE BINARY, version INTEGER NOT NULL, document TEXT NOT NULL
    ) STRICT";
    assert!(table.contains(from), "{from}");
    format!(
        "ALTER TABLE documents RENAME TO before; {}; INSERT INTO documents SELECT * FROM before; DROP TABLE before;",
        table.replace(from, to)
    )
}

const DIFFERS: &str = "the table \"documents\" differs from ours";

#[tokio::test]
async fn a_sqlite_file_with_other_tables_indexes_triggers_or_views_is_refused_by_their_names() {
    let undo = "CREATE TRIGGER undo AFTER UPDATE ON documents BEGIN UPDATE documents SET document = old.document \
        WHERE path = new.path; END";
    let view = "ALTER TABLE documents RENAME TO kept; \
        CREATE VIEW documents AS SELECT lower(path) AS path, version, document FROM kept";
    let rows = [
        (remade("BINARY", "NOCASE"), DIFFERS),
        (remade("BINARY", "RTRIM"), DIFFERS),
        (remade("STRICT", ""), DIFFERS),
        (remade("STRICT", "STRICT, WITHOUT ROWID"), DIFFERS),
        (remade("TEXT NOT NULL\n", "TEXT NOT NULL DEFAULT ''\n"), DIFFERS),
        ("ALTER TABLE documents ADD COLUMN more TEXT".into(), DIFFERS),
        (undo.into(), "the trigger \"undo\" of \"documents\" is not ours"),
        (view.into(), "the view \"documents\" is not ours"),
        ("CREATE VIEW theirs AS SELECT 1".into(), "the view \"theirs\" is not ours"),
        (
            "CREATE INDEX fast ON documents (path COLLATE NOCASE)".into(),
            "the index \"fast\" of \"documents\" is not ours",
        ),
        ("CREATE UNIQUE INDEX one ON changes (path)".into(), "the index \"one\" of \"changes\" is not ours"),
        ("CREATE TABLE notes (note TEXT)".into(), "the table \"notes\" is not ours"),
        ("DROP TABLE changes".into(), "the table \"changes\" is missing"),
    ];
    for (change, why) in rows {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let store = SqliteStore::open(&file).await.unwrap();
        create(&store, "lab/one").await.unwrap();
        drop(store);
        Connection::open(&file).unwrap().execute_batch(&change).unwrap();
        let before = std::fs::read(&file).unwrap();
        let reason = refused(&file).await;
        assert!(reason.contains(why), "{change}: {reason}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "{change}");
    }
}

#[tokio::test]
async fn a_sqlite_file_of_very_many_tables_with_long_names_gives_a_short_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    drop(SqliteStore::open(&file).await.unwrap());
    let name = |number: usize| format!("CREATE TABLE \"{}{number}\" (x);", "a".repeat(5000));
    Connection::open(&file).unwrap().execute_batch(&(0..200).map(name).collect::<String>()).unwrap();
    let reason = refused(&file).await;
    assert!(reason.len() < 1000 + file.as_os_str().len(), "{}", reason.len());
}

#[tokio::test]
async fn a_sqlite_file_is_opened_again_after_it_was_copied_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let [file, copy] = ["store.db", "copy.db"].map(|name| folder.path().join(name));
    let store = SqliteStore::open(&file).await.unwrap();
    create(&store, "lab/one").await.unwrap();
    let connection = Connection::open(&file).unwrap();
    connection.execute("VACUUM INTO ?1", (copy.to_str().unwrap(),)).unwrap();
    connection.execute_batch("VACUUM").unwrap();
    drop((store, connection));
    for file in [file, copy] {
        assert!(SqliteStore::open(&file).await.unwrap().get(&path("lab/one")).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_sqlite_trigger_or_view_that_comes_while_the_file_is_open_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = SqliteStore::open(&file).await.unwrap();
    let version = create(&store, "lab/one").await.unwrap();
    let other = Connection::open(&file).unwrap();
    other
        .execute_batch(
            "CREATE TRIGGER undo AFTER UPDATE ON documents BEGIN UPDATE documents SET document = old.document \
             WHERE path = new.path; END;
             CREATE TRIGGER keep BEFORE DELETE ON documents BEGIN SELECT RAISE(IGNORE); END;",
        )
        .unwrap();
    let document = Document::from_value(&json!({"new": true})).unwrap();
    let update = Write::Update { path: path("lab/one"), version, document: document.clone() };
    let version = store.write_one(update).await.unwrap();
    assert_eq!(store.get(&path("lab/one")).await.unwrap().unwrap().document, document);
    store.write_one(Write::Delete { path: path("lab/one"), version }).await.unwrap();
    assert_eq!(store.get(&path("lab/one")).await.unwrap(), None);
    other
        .execute_batch(
            "DROP TRIGGER undo; DROP TRIGGER keep; ALTER TABLE documents RENAME TO kept;
             CREATE VIEW documents AS SELECT 'lab/one' AS path, 7 AS version, '{}' AS document",
        )
        .unwrap();
    assert!(store.get(&path("lab/one")).await.is_err());
}

/// Why a collection is not opened.
async fn unusable(address: std::net::SocketAddr) -> String {
    match MongoDbStore::open(&Location::at(format!("mongodb://{address}"))).await {
        Err(Error::Failed { reason, .. }) => reason,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("opened"),
    }
}

async fn database(server: &Standalone) -> mongodb::Database {
    mongodb::Client::with_uri_str(format!("mongodb://{}", server.address())).await.unwrap().database("dcm")
}

#[tokio::test]
async fn a_mongodb_collection_with_foreign_indexes_is_refused_by_their_names_before_anything_is_written() {
    let server = Standalone::mongodb().await.unwrap();
    let database = database(&server).await;
    for (name, key, is_unique, why) in [
        ("theirs", doc! { "document.name": 1 }, true, "refuses documents that are alike"),
        ("changed", doc! { "version": 1 }, false, "has other fields than the store's own index of this name"),
    ] {
        let mut index = doc! { "key": key, "name": name };
        if is_unique {
            index.insert("unique", true);
        }
        database.run_command(doc! { "createIndexes": "DCM", "indexes": [index] }).await.unwrap();
        let expected = format!("the collection \"DCM\" can't be used: its index {name:?} {why}");
        assert_eq!(unusable(server.address()).await, expected);
        let records = database.collection::<bson::Document>("DCM");
        assert_eq!(records.count_documents(doc! {}).await.unwrap(), 0);
        records.drop().await.unwrap();
    }
    // One that changes nothing.
    let index = doc! { "key": { "document.name": 1 }, "name": "theirs" };
    database.run_command(doc! { "createIndexes": "DCM", "indexes": [index] }).await.unwrap();
    let location = Location::at(format!("mongodb://{}", server.address()));
    for _ in 0..2 {
        MongoDbStore::open(&location).await.unwrap();
    }
}

#[tokio::test]
async fn a_mongodb_view_or_a_collection_with_a_collation_or_a_limit_is_refused() {
    let server = Standalone::mongodb().await.unwrap();
    for (kind, options, why) in [
        ("view", doc! { "viewOn": "other", "pipeline": [] }, "the option viewOn"),
        ("collection", doc! { "collation": { "locale": "en", "strength": 2 } }, "the option collation"),
        ("collection", doc! { "validator": { "version": 1 } }, "the option validator"),
        ("collection", doc! { "capped": true, "size": 4096 }, "the option capped"),
    ] {
        let relay = Relay::before(server.address()).await;
        relay.answer("listCollections", doc! { "name": "DCM", "type": kind, "options": options });
        let reason = unusable(relay.address()).await;
        assert!(
            reason.starts_with("the collection \"DCM\" can't be used: it has ") && reason.contains(why),
            "{reason}"
        );
    }
    let relay = Relay::before(server.address()).await;
    let of_ids = doc! { "v": 2, "name": "_id_", "key": { "_id": 1 }, "collation": { "locale": "en" } };
    relay.answer("listIndexes", of_ids);
    assert!(unusable(relay.address()).await.contains("its index \"_id_\" has a collation"));
    assert_eq!(database(&server).await.list_collection_names().await.unwrap(), Vec::<String>::new());
}

/// By the server itself, which knows no collations and no views, but collections of a fixed size.
#[tokio::test]
async fn a_mongodb_collection_of_a_fixed_size_is_refused() {
    let server = Standalone::mongodb().await.unwrap();
    let capped = doc! { "create": "DCM", "capped": true, "size": 100_000_i64 };
    database(&server).await.run_command(capped).await.unwrap();
    assert!(unusable(server.address()).await.contains("the option capped"));
}
