//! Every backend of this crate holds the store's contract.
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "encrypted",
    feature = "conformance"
))]

use std::sync::Arc;

use dcm_core::port::store::Store;
use dcm_store::conformance::Subject;
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::{EncryptedStore, Keyring, MemoryStore, SqliteStore};

async fn sqlite() -> (SqliteStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (
        SqliteStore::open(folder.path().join("store.db")).await.unwrap(),
        folder,
    )
}

fn encrypted(inner: impl Store) -> EncryptedStore<impl Store> {
    EncryptedStore::new(
        Arc::new(inner),
        Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]),
    )
}

mod memory_with_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        Subject::new(Arc::new(MemoryStore::new()))
    }

    dcm_store::conformance!(subject);
}

mod memory_without_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        Subject::new(Arc::new(MemoryStore::builder().atomic_batches(false).build()))
    }

    dcm_store::conformance!(subject);
}

mod sqlite_file {
    use super::*;

    async fn subject() -> Subject {
        let (store, folder) = sqlite().await;
        Subject::new(Arc::new(store)).keep(folder)
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_sqlite {
    use super::*;

    async fn subject() -> Subject {
        let (store, folder) = sqlite().await;
        Subject::new(Arc::new(encrypted(store))).keep(folder)
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_memory {
    use super::*;

    async fn subject() -> Subject {
        Subject::new(Arc::new(encrypted(MemoryStore::new())))
    }

    dcm_store::conformance!(subject);
}
