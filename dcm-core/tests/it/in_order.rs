//! Many writes in order.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{BATCH_WRITES_MAX, Document, Error, Path, Prefix, StoreExt as _, Write};
use dcm_store::MemoryStore;

fn create(name: &str, content: &str) -> Write {
    Write::Create {
        path: Path::new(format!("d/{name}")).unwrap(),
        document: Document::from_value(content).unwrap(),
    }
}

async fn stored(store: &MemoryStore) -> Vec<(String, String)> {
    let entries = store.list_all(&Prefix::everything()).await.unwrap();
    entries.into_iter().map(|entry| (entry.path.to_string(), entry.document.read().unwrap())).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

#[tokio::test]
async fn what_conflicts_is_left_out_or_replaced_in_its_place_and_the_rest_is_written() {
    for atomic_batches in [true, false] {
        let store = MemoryStore::builder().atomic_batches(atomic_batches).build();
        for there in ["b", "d"] {
            store.write_one(create(there, "old")).await.unwrap();
        }
        let mut writes = InOrder::new(["a", "b", "c", "d", "e"].map(|name| create(name, "new")).into());
        let conflict = writes.go_on(&store).await.unwrap().unwrap();
        assert_eq!(conflict.write.path().as_str(), "d/b");
        let conflict = writes.go_on(&store).await.unwrap().unwrap();
        let (path, version) = (conflict.write.path().clone(), conflict.found.unwrap());
        assert_eq!(path.as_str(), "d/d");
        assert!(stored(&store).await.iter().all(|(path, _)| path != "d/e"), "it comes after what conflicts");
        let document = Document::from_value("newer").unwrap();
        writes.instead(&conflict, Write::Update { path, version, document });
        assert!(writes.go_on(&store).await.unwrap().is_none());
        let all = [("d/a", "new"), ("d/b", "old"), ("d/c", "new"), ("d/d", "newer"), ("d/e", "new")];
        assert_eq!(stored(&store).await, pairs(&all));
    }
}

#[tokio::test]
async fn who_stops_at_a_conflict_has_its_error_and_nothing_after_it_is_written() {
    let store = MemoryStore::builder().atomic_batches(false).build();
    store.write_one(create("b", "old")).await.unwrap();
    let mut writes = InOrder::new(["a", "b", "c"].map(|name| create(name, "new")).into());
    let error = writes.go_on(&store).await.unwrap().unwrap().into_error();
    assert!(matches!(&error, Error::Conflict { path, found: Some(_) } if path.as_str() == "d/b"), "{error}");
    assert_eq!(stored(&store).await, pairs(&[("d/a", "new"), ("d/b", "old")]));
}

#[tokio::test]
async fn no_batch_has_more_writes_than_a_store_takes() {
    let store = MemoryStore::new();
    let many = (0..2 * BATCH_WRITES_MAX + 1).map(|number| create(&format!("{number:04}"), "new"));
    let mut writes = InOrder::new(many.collect());
    assert!(writes.go_on(&store).await.unwrap().is_none());
    assert_eq!(stored(&store).await.len(), 2 * BATCH_WRITES_MAX + 1);
    let last = store.list_all(&Prefix::everything()).await.unwrap().pop().unwrap();
    assert_eq!(writes.last_version(), Some(last.version));
}
