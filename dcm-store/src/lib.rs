//! Where documents are kept.
//!
//! Backends of the [`Store`](dcm_core::port::store::Store) port, each behind a feature:
//!
//! | Feature | Type | What it is for |
//! |---|---|---|
//! | `memory` (default) | `MemoryStore` | tests, examples, short-lived programs |
//! | `sqlite` | `SqliteStore` | one durable file, shared by the processes of one host |
//! | `etcd` | `EtcdStore` | etcd, shared by any number of hosts |
//! | `mongodb` | `MongoDbStore` | MongoDB, the same, readable to people |
//! | `encrypted` | `EncryptedStore` | keeps secret fields as ciphertext and each document with a MAC, over any other store |
//! | `faults` | `FaultyStore` | fails on purpose, by a seed, over any other store |
//! | `trace` | `TracedStore` | tells what it is asked, in spans and counts, over any other store |
//! | `conformance` | `conformance`, `histories` | the suite that every backend passes, ours or yours; random histories of it, checked |
//!
//! [`open`] takes a URL instead. Whoever writes a backend finds what all backends refuse alike in [`rules`].
#![cfg_attr(feature = "memory", doc = "```")]
#![cfg_attr(not(feature = "memory"), doc = "```ignore")]
//! use dcm_core::port::store::{Document, Path, Prefix, StoreExt, Write};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = dcm_store::open("memory:").await?;
//! let path = Path::new("projects/p1")?;
//! let document = Document::from_value(&serde_json::json!({ "description": "ours" }))?;
//!
//! let version = store.write_one(Write::Create { path: path.clone(), document: document.clone() }).await?;
//! assert_eq!(store.get(&path).await?.map(|entry| entry.document), Some(document.clone()));
//!
//! // Writes say what they expect: whoever comes second with the same version learns of it.
//! let update = Write::Update { path: path.clone(), version, document };
//! store.write_one(update.clone()).await?;
//! assert!(store.write_one(update).await.is_err());
//!
//! assert_eq!(store.list_all(&Prefix::below(&Path::new("projects")?)).await?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "encrypted")]
pub mod encrypted;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "faults")]
pub mod faults;
#[cfg(feature = "conformance")]
pub mod histories;
#[cfg(any(feature = "memory", feature = "sqlite", feature = "mongodb"))]
mod hub;
mod json;
#[cfg(any(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted",
    feature = "trace",
    feature = "conformance"
))]
mod lock;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mongodb")]
pub mod mongodb;
mod open;
#[cfg(any(feature = "sqlite", feature = "encrypted"))]
mod private_file;
pub mod rules;
mod signed;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "trace")]
pub mod trace;
pub mod transfer;
#[cfg(any(feature = "etcd", feature = "mongodb"))]
mod url;

#[cfg(feature = "encrypted")]
pub use encrypted::{EncryptedStore, Keyring};
#[cfg(feature = "etcd")]
pub use etcd::EtcdStore;
#[cfg(feature = "faults")]
pub use faults::FaultyStore;
#[cfg(feature = "memory")]
pub use memory::MemoryStore;
#[cfg(feature = "mongodb")]
pub use mongodb::MongoDbStore;
pub use open::{OpenError, StoreUrl, open, open_existing, open_with_rooms};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
#[cfg(feature = "trace")]
pub use trace::TracedStore;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
