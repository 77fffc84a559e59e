//! A database with what it takes to write to it, and no keys.

use dcm_testenv::{Standalone, etcd_http};
use mongodb::bson::{Document, doc};
use serde_json::Value;

/// A server that keeps documents, to be written to by its own means.
pub(crate) enum Database {
    Etcd(Standalone),
    MongoDb(Standalone),
}

impl Database {
    /// The URL for `dcm`. The server shares the processors with everything else, so it may take long.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Etcd(server) => format!("etcd://{}?timeout=60", server.address()),
            Self::MongoDb(server) => format!("mongodb://{}?timeout=60", server.address()),
        }
    }

    /// Puts a text in the place of a document.
    pub(crate) async fn put(&self, path: &str, document: &str) {
        match self {
            Self::Etcd(server) => {
                etcd_http::put(server, &format!("dcm/{path}"), document.as_bytes()).unwrap();
            }
            Self::MongoDb(server) => {
                let change = doc! {
                    "$set": { "text": document },
                    "$unset": { "document": "" },
                    "$inc": { "version": 1_i64 },
                    "$currentDate": { "changed": { "$type": "timestamp" } },
                };
                // The driver knows no such option.
                let url = format!("mongodb://{}", server.address());
                let client = mongodb::Client::with_uri_str(url).await.unwrap();
                let records = client.database("dcm").collection::<Document>("DCM");
                assert_eq!(records.update_one(doc! { "_id": path }, change).await.unwrap().modified_count, 1);
            }
        }
    }
}

/// What an export of a store has of a document, to the letter.
pub(crate) fn exported(export: &str, path: &str) -> String {
    let beginning = format!("{{\"path\":\"{path}\",\"document\":");
    let document = export.lines().find_map(|line| line.strip_prefix(&beginning)?.strip_suffix('}'));
    document.unwrap_or_else(|| panic!("nothing is at {path}")).to_owned()
}

/// The first path of an export that has these parts, in their order.
pub(crate) fn path_with(export: &str, parts: &[&str]) -> String {
    let paths = export.lines().filter_map(|line| Some(line.strip_prefix("{\"path\":\"")?.split_once('"')?.0));
    let has_all = |path: &&str| {
        parts.iter().try_fold(*path, |rest, part| rest.split_once(part).map(|(_, behind)| behind)).is_some()
    };
    paths.into_iter().find(has_all).unwrap_or_else(|| panic!("no path has {parts:?}")).to_owned()
}

/// Another content of a document, with and without the MAC that it has.
pub(crate) fn forged(kept: &str, forge: impl FnOnce(&mut Value)) -> [String; 2] {
    let mut value: Value = serde_json::from_str(kept).unwrap();
    value.as_object_mut().unwrap().remove("$mac").unwrap();
    forge(&mut value);
    let stripped = value.to_string();
    let mac = &kept[kept.rfind(",\"$mac\":").unwrap()..];
    [stripped.strip_suffix('}').unwrap().to_owned() + mac, stripped]
}
