//! Holds the store below to what it was asked.
//!
//! A MAC shows that a document was written for its own path, not that this path was asked for. Where the store below compares paths
//! otherwise than bytewise, or returns something else than was asked, a valid document would be used in the place of another one. So a
//! read returns the document of that path, a page has documents below the prefix, in order and behind the start, a watch shows
//! paths below its prefix, and a write returns versions that it can have.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use futures::{StreamExt as _, stream};

use crate::rules;

/// What a store did that was not asked.
#[derive(Debug, thiserror::Error)]
#[error("the store below returned {0}")]
struct NotAsked(String);

/// A store below that is held to what it was asked.
pub(super) struct Asked<S: ?Sized>(pub(super) Arc<S>);

#[async_trait]
impl<S: Store + ?Sized> Store for Asked<S> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        let found = self.0.get(path).await?;
        match found.as_ref().filter(|entry| entry.path != *path) {
            Some(other) => Err(failed(format!("{} for {path}", other.path))),
            None => Ok(found),
        }
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let listed = self.0.list(prefix, page).await?;
        check_page(prefix, page, &listed).map_err(failed)?;
        Ok(listed)
    }

    /// What became of a batch whose answer does not fit it is unknown.
    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let written = self.0.write(batch).await;
        let checked = match &written {
            Ok(versions) => check_versions(batch, versions),
            Err(error) => check_refusal(batch, error),
        };
        let unknown = |what| Error::Unavailable { source: Arc::new(NotAsked(what)) };
        checked.map_err(|what| BatchError { applied: 0, source: unknown(what) })?;
        written
    }

    /// Ends with [`Change::Lost`] instead of a change of a path that is not below the prefix.
    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let (inner, prefix) = (self.0.watch(prefix).await?, prefix.clone());
        let held = stream::unfold(Some(inner), move |inner| {
            let prefix = prefix.clone();
            async move {
                let mut inner = inner?;
                let change = inner.next().await?;
                let is_asked = match &change {
                    Change::Put(entry) => prefix.contains(&entry.path),
                    Change::Deleted(path) => prefix.contains(path),
                    Change::Lost => false,
                };
                Some(if is_asked { (change, Some(inner)) } else { (Change::Lost, None) })
            }
        });
        Ok(held.boxed())
    }
}

fn failed(what: String) -> Error {
    Error::Failed {
        reason: "the database does not compare paths bytewise, or is not the one that was opened".into(),
        source: Some(Arc::new(NotAsked(what))),
    }
}

/// Checks that the documents are below the prefix, behind the start and in order, and that the list goes on behind them.
fn check_page(prefix: &Prefix, request: &PageRequest, page: &Page) -> Result<(), String> {
    let limit = rules::page_limit(request).map_err(|error| error.to_string())?;
    if page.entries.len() > limit {
        return Err(format!("{} documents where at most {limit} were asked for", page.entries.len()));
    }
    let mut before = request.after.as_ref();
    for Entry { path, .. } in &page.entries {
        if !prefix.contains(path) {
            return Err(format!("{path} in a list below {prefix:?}"));
        }
        if let Some(before) = before.filter(|before| *before >= path) {
            return Err(format!("{path} behind {before} in a list"));
        }
        before = Some(path);
    }
    let goes_on = match (&page.next, page.entries.last()) {
        (None, _) => true,
        (Some(next), Some(last)) => *next >= last.path,
        (Some(next), None) => request.after.as_ref().is_none_or(|after| next > after),
    };
    if goes_on { Ok(()) } else { Err("a list that goes back".into()) }
}

/// Checks that there is a version for each write, and one that the write can have.
fn check_versions(batch: &[Write], versions: &[Version]) -> Result<(), String> {
    if versions.len() != batch.len() {
        return Err(format!("{} versions for {} writes", versions.len(), batch.len()));
    }
    let is_possible = |(write, given): &(&Write, &Version)| match write {
        Write::Create { .. } => **given != Version::UNREADABLE,
        Write::Update { version, .. } => *given > version,
        Write::Delete { version, .. } => *given == version,
    };
    match batch.iter().zip(versions).find(|written| !is_possible(written)) {
        Some((write, Version(given))) => Err(format!("the version {given} for a write of {}", write.path())),
        None => Ok(()),
    }
}

/// Checks that the failed write, and the document of a conflict, are of the batch.
fn check_refusal(batch: &[Write], BatchError { applied, source }: &BatchError) -> Result<(), String> {
    if *applied > 0 && *applied >= batch.len() {
        return Err(format!("a failure of write {applied} of {}", batch.len()));
    }
    match source {
        Error::Conflict { path, .. } if batch.iter().all(|write| write.path() != path) => {
            Err(format!("a conflict about {path}, which was not written"))
        }
        _ => Ok(()),
    }
}
