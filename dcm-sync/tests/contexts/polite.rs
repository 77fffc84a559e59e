//! A store in which every call lets others go first, so that calls at the same time meet.

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_store::MemoryStore;

pub(crate) struct Polite(pub(crate) MemoryStore);

#[async_trait]
impl Store for Polite {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        tokio::task::yield_now().await;
        self.0.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        tokio::task::yield_now().await;
        self.0.list(prefix, page).await
    }

    /// A batch that is not atomic is written one by one: others come between.
    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        if self.capabilities().atomic_batches {
            tokio::task::yield_now().await;
            return self.0.write(batch).await;
        }
        let mut versions = Vec::new();
        for (applied, write) in batch.iter().enumerate() {
            tokio::task::yield_now().await;
            let written = self.0.write(std::slice::from_ref(write)).await;
            versions.extend(written.map_err(|error| BatchError { applied, source: error.source })?);
        }
        Ok(versions)
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.0.watch(prefix).await
    }
}
