//! Who works on a store.

use dcm_core::port::store::StoreExt as _;
use dcm_core::port::synchronizer::Error;
use jiff::Timestamp;

use super::Contexts;
use crate::record::{self, Worker, WorkerId, path};

/// The session of a worker, as it was renewed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSession {
    /// Which worker.
    pub worker: WorkerId,
    /// It takes every shard, not only those that its own caller waits for.
    pub serves: bool,
    /// When it was renewed, by the worker's own clock. One that is older than a lease is that of a worker that is
    /// gone, or can't reach the store.
    pub renewed: Timestamp,
}

impl Contexts {
    /// The sessions of the workers on this store, those that ended without a word included. One that can't be read is passed
    /// over: it may be that of a worker of a later version.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn workers(&self) -> Result<Vec<WorkerSession>, Error> {
        let mut sessions = Vec::new();
        for entry in self.store.list_all(&path::workers()).await? {
            let Some(worker) = path::worker_of(&entry.path) else { continue };
            let Worker { serves, at, .. } = match record::read(&entry) {
                Ok(session) => session,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the session of a worker can't be read");
                    continue;
                }
            };
            sessions.push(WorkerSession { worker, serves, renewed: at });
        }
        Ok(sessions)
    }
}
