//! Random histories of every backend of this crate, with servers and processes that are killed meanwhile.
//!
//! Any number of seeds: `DCM_PROVE_HISTORIES=500 cargo test --release -p dcm-store --all-features --test it histories::etcd`, and one
//! that failed: `DCM_PROVE_HISTORIES=1 FIRST_SEED=7`.
#![allow(clippy::unwrap_used)]
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted",
    feature = "faults",
    feature = "conformance"
))]

mod killed_processes;
mod killed_servers;

use std::fs;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::port::store::Store;
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::histories::{Backend, Failure, History, Play, seeds};
use dcm_store::{EncryptedStore, Keyring, MemoryStore, SqliteStore};
use dcm_testenv::effort::budget;

/// The seeds of which each backend plays a history.
fn played_seeds() -> Range<u64> {
    seeds(u64::try_from(budget("histories", 5, 20)).unwrap())
}

/// Plays a history of each seed.
async fn play<B: Backend>(backend: impl AsyncFn() -> Arc<B>) {
    for seed in played_seeds() {
        holds(Play::of(seed).run(backend().await).await);
    }
}

/// Fails with what is wrong. A seed does not repeat how calls meet, so all that happened is kept.
fn holds(judged: Result<History, Box<Failure>>) {
    let Err(failure) = judged else { return };
    let file = FilePath::new(env!("CARGO_TARGET_TMPDIR")).join(format!("history-{}", failure.seed));
    let calls = failure.history.calls.iter().map(|call| format!("{call}\n"));
    let sessions = failure.history.sessions.iter().map(|session| format!("{session:#?}\n"));
    fs::write(&file, calls.chain(sessions).collect::<String>()).unwrap();
    panic!("{failure}\nall that happened is in {}", file.display());
}

/// One store for all clients.
struct OneStore(Arc<dyn Store>);

#[async_trait]
impl Backend for OneStore {
    async fn open(&self) -> Arc<dyn Store> {
        self.0.clone()
    }
}

/// One file, with a store for each client.
struct OneFile {
    folder: PathBuf,
    is_encrypted: bool,
    _kept: Option<tempfile::TempDir>,
}

impl OneFile {
    /// In a folder that is there as long as this.
    fn new(is_encrypted: bool) -> Arc<Self> {
        let kept = tempfile::tempdir().unwrap();
        Arc::new(Self { folder: kept.path().to_owned(), is_encrypted, _kept: Some(kept) })
    }

    /// In somebody else's folder.
    fn at(folder: &FilePath) -> Self {
        Self { folder: folder.to_owned(), is_encrypted: false, _kept: None }
    }
}

#[async_trait]
impl Backend for OneFile {
    async fn open(&self) -> Arc<dyn Store> {
        let store = Arc::new(SqliteStore::open(self.folder.join("store.db")).await.unwrap());
        if !self.is_encrypted {
            return store;
        }
        Arc::new(EncryptedStore::new(store, Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES])))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_with_atomic_batches() {
    play(async || Arc::new(OneStore(Arc::new(MemoryStore::new())))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_without_atomic_batches() {
    let store = || Arc::new(MemoryStore::builder().atomic_batches(false).build());
    play(async || Arc::new(OneStore(store()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_with_a_store_for_each_client() {
    play(async || OneFile::new(false)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_with_one_store_for_all() {
    play(async || {
        // The file stays open when its name is gone.
        Arc::new(OneStore(OneFile::new(false).open().await))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn encrypted_over_sqlite() {
    play(async || OneFile::new(true)).await;
}
