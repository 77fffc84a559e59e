//! The store of one's own holds the contract of stores.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../own_store/journal.rs"]
mod journal;

use std::fs;
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::port::store::{Document, Path, Prefix, Store, StoreExt as _, Write};
use dcm_store::conformance::Subject;
use dcm_store::histories::{Backend, Play, seeds};
use journal::JournalStore;

async fn subject() -> Subject {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    let open = async move || Arc::new(JournalStore::open(&file).unwrap()) as Arc<dyn Store>;
    Subject::new(open().await).opened_by(open).keep(folder)
}

dcm_store::conformance!(subject);

/// One journal that all clients of a history use.
struct Journal(Arc<dyn Store>);

#[async_trait]
impl Backend for Journal {
    async fn open(&self) -> Arc<dyn Store> {
        self.0.clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_clients_see_of_it_is_what_the_contract_allows() {
    for seed in seeds(5) {
        let folder = tempfile::tempdir().unwrap();
        let store = JournalStore::open(&folder.path().join("journal")).unwrap();
        let played = Play::of(seed).run(Arc::new(Journal(Arc::new(store)))).await;
        played.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[tokio::test]
async fn a_journal_whose_last_line_was_cut_off_is_what_it_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    let creation =
        |name: &str| Write::Create { path: Path::new(name).unwrap(), document: Document::from_stored("{}") };
    let store = JournalStore::open(&file).unwrap();
    let first = store.write_one(creation("a")).await.unwrap();
    store.write(&[creation("b"), creation("c")]).await.unwrap();
    drop(store);
    let journal = fs::read(&file).unwrap();
    fs::write(&file, &journal[..journal.len() - 3]).unwrap();
    let store = JournalStore::open(&file).unwrap();
    let entries = store.list_all(&Prefix::everything()).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.version).collect::<Vec<_>>(), [first]);
    assert!(store.write_one(creation("b")).await.unwrap() > first);
}
