//! Taking the store's state as the truth where clusters hold later changes.

use dcm_core::app_context::Generation;
use dcm_core::name::ContextId;
use dcm_core::port::store::StoreExt as _;
use dcm_core::port::synchronizer::Error;

use super::Contexts;
use crate::record::{self, Lane, path};

impl Contexts {
    /// Makes what the store wants later than all that was found on clusters, and asks for another look at each of them.
    pub(super) async fn take_as_truth(&self, id: &ContextId) -> Result<Generation, Error> {
        let seen = self.newest_seen(id).await?;
        self.change(id, |root| {
            let Some(seen) = seen.filter(|seen| root.overrules < Some(*seen)) else {
                return root.ask_again();
            };
            root.attempt += 1;
            root.generation = root.generation.max(seen).next();
            root.overrules = Some(seen);
            // Our own later changes are on the clusters.
            root.planned = root.planned.none();
            true
        })
        .await
        .map(|(generation, _)| generation)
    }

    /// The newest generation that a cluster was found to hold and the store did not know of.
    pub(super) async fn newest_seen(&self, id: &ContextId) -> Result<Option<Generation>, Error> {
        let mut seen = None;
        for entry in self.store.list_all(&path::lanes(id)).await? {
            let lane: Lane = record::read(&entry)?;
            seen = seen.max(lane.ahead);
        }
        Ok(seen)
    }
}
