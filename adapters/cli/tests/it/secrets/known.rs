//! All secrets of a life: from what was given, from what was handed out, and from the store, opened with its keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::store::{Document, Prefix, StoreExt as _};
use dcm_store::{EncryptedStore, Keyring, encrypted};
use serde_json::Value;

use crate::secrets::search::Searcher;
use crate::secrets::witness::Witness;

/// The document with the key that proves our marks on objects: a word of its own.
const PROOFS: &str = "proofs";

/// The secrets, each with the name that it is told by.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<String, String>);

impl Known {
    pub(crate) fn key(&mut self, name: &str, pem: &str) {
        assert!(pem.contains("PRIVATE KEY-----"), "{name} is no key");
        self.0.entry(pem.to_owned()).or_insert_with(|| name.to_owned());
    }

    fn token(&mut self, name: &str, token: &str) {
        assert_eq!(token.matches('.').count(), 2, "{name} is no token");
        self.0.entry(token.to_owned()).or_insert_with(|| name.to_owned());
    }

    /// The keys and tokens in a kubeconfig; gives how many there were.
    pub(crate) fn kubeconfig(&mut self, name: &str, text: &str) -> usize {
        let file: Value = serde_saphyr::from_str(text).unwrap();
        let mut found = 0;
        for user in file["users"].as_array().unwrap() {
            let name = format!("{name}, {}", user["name"].as_str().unwrap());
            if let Some(key) = user["user"]["client-key-data"].as_str() {
                self.key(&name, &String::from_utf8(STANDARD.decode(key).unwrap()).unwrap());
                found += 1;
            }
            if let Some(token) = user["user"]["token"].as_str() {
                self.token(&name, token);
                found += 1;
            }
        }
        found
    }

    /// Whatever a store of documents holds as secret.
    pub(crate) fn documents(&mut self, documents: &BTreeMap<String, Value>) {
        for (path, document) in documents {
            for secret in secrets_of(document) {
                match secret {
                    word if *path == encrypted::ROOM.name || path == PROOFS => {
                        self.0.insert(word.to_owned(), path.clone());
                    }
                    key if key.starts_with("-----BEGIN") => self.key(path, key),
                    file if file.starts_with('{') => {
                        self.kubeconfig(path, file);
                    }
                    token => self.token(path, token),
                }
            }
        }
    }

    /// Looks for all of them.
    pub(crate) fn searcher(&self) -> Searcher {
        let mut searcher = Searcher::new();
        for (secret, name) in &self.0 {
            if secret.starts_with("-----BEGIN") {
                searcher.add_key(name, secret);
            } else {
                searcher.add_token(name, secret);
            }
        }
        searcher
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.values()
    }
}

/// The secrets anywhere in a document.
pub(crate) fn secrets_of(document: &Value) -> Vec<&str> {
    match document {
        Value::Object(members) => match members.get("$secret").and_then(Value::as_str) {
            Some(secret) => vec![secret],
            None => members.values().flat_map(secrets_of).collect(),
        },
        Value::Array(items) => items.iter().flat_map(secrets_of).collect(),
        _ => Vec::new(),
    }
}

fn keyring(home: &Path) -> std::path::PathBuf {
    home.join(".config/dcm/keys.json")
}

/// All documents that are kept, opened with their keys.
pub(crate) async fn documents(witness: &Witness) -> BTreeMap<String, Value> {
    let mut documents = BTreeMap::new();
    for url in witness.stores() {
        let keys = Keyring::open_or_create(keyring(witness.home())).unwrap();
        let store = Arc::new(EncryptedStore::new(dcm_store::open(&url).await.unwrap(), keys));
        let entries = store.list_all(&Prefix::everything()).await.unwrap();
        let read = |document: &Document| document.read::<Value>().unwrap();
        documents.extend(entries.iter().map(|entry| (entry.path.to_string(), read(&entry.document))));
    }
    documents
}

/// The keys that the store's secrets are encrypted with.
pub(crate) fn store_keys(home: &Path) -> Vec<Vec<u8>> {
    let file: Value = serde_json::from_slice(&std::fs::read(keyring(home)).unwrap()).unwrap();
    let keys = file["keys"].as_object().unwrap().values();
    keys.map(|key| STANDARD.decode(key.as_str().unwrap()).unwrap()).collect()
}
