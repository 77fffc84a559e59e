//! Changes of single records by compare-and-swap.

use std::sync::Arc;

use dcm_core::port::store::{self, Document, Path, StoreExt as _, Version};
use dcm_core::port::synchronizer::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Contexts, writing};
use crate::record;

/// How often a change of a record is tried again when somebody else changed it in the same moment.
pub(super) const CONTENTION_TRIES: usize = 8;

impl Contexts {
    /// Reads a record.
    pub(super) async fn read<R: DeserializeOwned>(&self, path: &Path) -> Result<Option<(R, Version)>, Error> {
        let Some(entry) = self.store.get(path).await? else { return Ok(None) };
        Ok(Some((record::read(&entry)?, entry.version)))
    }

    /// Changes a record and gives it. One that is not there begins with its default; nothing is written where nothing
    /// changes.
    pub(super) async fn change_record<R>(
        &self,
        path: Path,
        change: impl Fn(&mut R) + Send + Sync,
    ) -> Result<R, Error>
    where
        R: Clone + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync,
    {
        for _ in 0..CONTENTION_TRIES {
            let (before, version) = self.read::<R>(&path).await?.unzip();
            let before = before.unwrap_or_default();
            let mut changed = before.clone();
            change(&mut changed);
            if changed == before || self.swap(path.clone(), version, &changed).await?.is_some() {
                return Ok(changed);
            }
        }
        Err(contended(&path))
    }

    /// Writes a record that has this version, or is not there yet, and gives its new version; none when somebody else was
    /// quicker.
    pub(super) async fn swap<R: Serialize + Sync>(
        &self,
        path: Path,
        version: Option<Version>,
        record: &R,
    ) -> Result<Option<Version>, Error> {
        match self.store.write_one(writing::put(path, version, Document::from_value(record)?)).await {
            Ok(version) => Ok(Some(version)),
            Err(store::Error::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Others were quicker, again and again.
pub(super) fn contended(path: &Path) -> Error {
    let message = format!("others change the record {path} at the same time");
    store::Error::Unavailable { source: Arc::new(std::io::Error::other(message)) }.into()
}
