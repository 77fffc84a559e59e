//! What secrets cost where they are sealed.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "encrypted", feature = "memory"))]

use std::sync::Arc;

use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{BATCH_BYTES_MAX, Document, Error, Path, Prefix, StoreExt as _, Write};
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::{EncryptedStore, Keyring, MemoryStore};

/// A document with one secret of so many bytes.
fn creation(name: &str, bytes: usize) -> Write {
    let secret = serde_json::json!({ "$secret": "x".repeat(bytes) });
    Write::Create { path: Path::new(name).unwrap(), document: Document::from_value(&secret).unwrap() }
}

fn encrypted() -> EncryptedStore<MemoryStore> {
    let keyring = Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]);
    EncryptedStore::new(Arc::new(MemoryStore::new()), keyring)
}

#[tokio::test]
async fn many_writes_of_secrets_are_split_by_what_is_kept_of_them() {
    let store = encrypted();
    // In clear they fit one batch.
    let all: Vec<Write> =
        (0..4).map(|number| creation(&format!("secrets/{number}"), BATCH_BYTES_MAX / 4 - 100)).collect();
    assert!(all.iter().map(Write::bytes).sum::<usize>() <= BATCH_BYTES_MAX);
    let mut writes = InOrder::new(all);
    assert!(!writes.is_one_batch());
    assert!(writes.go_on(&store).await.unwrap().is_none());
    assert_eq!(store.list_all(&Prefix::everything()).await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_document_that_is_too_large_when_it_is_sealed_is_refused_with_its_size() {
    let error = encrypted().write_one(creation("a", BATCH_BYTES_MAX - 100)).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid { reason } if reason.starts_with("a has 1398")), "{error:?}");
}
