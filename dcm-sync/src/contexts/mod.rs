//! App contexts in the store: the [`Synchronizer`] that the engine's records make up.
//!
//! Nothing here talks to a cluster. A worker, in this process or in another one on the same store, sees the root
//! record change and does the work.

mod claims;
mod identity;
mod status;
mod workers;
mod writing;

pub use workers::WorkerSession;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::app_context::{AppContext, CLUSTERS_MAX, Generation};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{self, Change, Document, Store, StoreExt, Version, Write};
use dcm_core::port::synchronizer::{Error, Removal, Results, StatusStream, Synchronizer};
use dcm_core::status::{ContextStatus, Intent, Progress};
use futures::StreamExt as _;

use crate::record::{self, Lane, Outcome, Root, path};

/// How often a change of a root is tried again when somebody else changed it in the same moment.
const CONTENTION_TRIES: usize = 8;

/// App contexts over a store. Cheap to clone.
#[derive(Clone)]
pub struct Contexts {
    store: Arc<dyn Store>,
}

impl Contexts {
    /// App contexts in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Waits until every lane of a context is where it is to be, or can't go on before somebody changes something.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::NotFound`] when the context is forgotten meanwhile.
    pub async fn wait_until_done(&self, id: &ContextId) -> Result<ContextStatus, Error> {
        let not_found = || Error::NotFound { id: id.clone() };
        loop {
            let mut changes = status::changes(self, id).await?;
            while let Some(batch) = changes.next().await {
                // With thousands of lanes a whole status after each change would cost more than the work.
                if self.progress(id).await?.ok_or_else(not_found)? != Progress::Working {
                    let status = self.status(id).await?.ok_or_else(not_found)?;
                    if status.progress != Progress::Working {
                        return Ok(status);
                    }
                }
                if batch.contains(&Change::Lost) {
                    break;
                }
            }
        }
    }

    /// Waits until nothing is left on a context's clusters of what its work needed on the way, such as answered
    /// signing requests. Nobody has to wait for that: it is cleared away behind the work, by whoever does the work. A
    /// program that ends when its work is done waits for it with a bound. While the work is paused there is nothing to
    /// wait for.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn wait_until_tidy(&self, id: &ContextId) -> Result<(), Error> {
        loop {
            let mut changes = status::changes(self, id).await?;
            while let Some(batch) = changes.next().await {
                let Some((root, _)) = self.root(id).await? else { return Ok(()) };
                let mut tidy = true;
                self.visit_lanes(id, &root, |_, lane| tidy &= !lane.is_some_and(|lane| lane.untidy)).await?;
                if tidy || root.paused {
                    return Ok(());
                }
                if batch.contains(&Change::Lost) {
                    break;
                }
            }
        }
    }

    /// How far a context is; none when there is no such context.
    async fn progress(&self, id: &ContextId) -> Result<Option<Progress>, Error> {
        let Some((root, _)) = self.root(id).await? else { return Ok(None) };
        let mut progress = Progress::Done;
        self.visit_lanes(id, &root, |cluster, lane| {
            progress = status::progress_with(progress, &root, cluster, lane);
        })
        .await?;
        Ok(Some(progress))
    }

    async fn root(&self, id: &ContextId) -> Result<Option<(Root, Version)>, Error> {
        let Some(entry) = self.store.get(&path::root(id)).await? else { return Ok(None) };
        Ok(Some((entry.document.read()?, entry.version)))
    }

    /// Visits the record of each lane, one at a time as there may be many, and then the clusters that have none yet.
    async fn visit_lanes(
        &self,
        id: &ContextId,
        root: &Root,
        mut visit: impl FnMut(&ClusterId, Option<&Lane>) + Send,
    ) -> Result<(), Error> {
        let mut unrecorded: BTreeSet<&ClusterId> = root.clusters().collect();
        for entry in self.store.list_all(&path::lanes(id)).await? {
            if let Some(cluster) = path::cluster_of(&entry.path, 2) {
                unrecorded.remove(&cluster);
                visit(&cluster, Some(&entry.document.read()?));
            }
        }
        unrecorded.into_iter().for_each(|cluster| visit(cluster, None));
        Ok(())
    }

    async fn status_of(&self, id: &ContextId, root: &Root) -> Result<ContextStatus, Error> {
        let mut whole = status::of_root(id, root);
        self.visit_lanes(id, root, |cluster, lane| {
            whole.progress = status::progress_with(whole.progress, root, cluster, lane);
            if let Some(lane) = status::of_lane(root, cluster, lane) {
                whole.lanes.insert(cluster.clone(), lane);
            }
        })
        .await?;
        Ok(whole)
    }

    /// Changes a root by compare-and-swap; `change` says whether there is something to write.
    async fn change(
        &self,
        id: &ContextId,
        change: impl Fn(&mut Root) -> bool + Send + Sync,
    ) -> Result<Generation, Error> {
        for _ in 0..CONTENTION_TRIES {
            let (mut root, version) =
                self.root(id).await?.ok_or_else(|| Error::NotFound { id: id.clone() })?;
            if !change(&mut root) {
                return Ok(root.generation);
            }
            let document = Document::from_value(&root)?;
            let write = Write::Update { path: path::root(id), version, document };
            match self.store.write_one(write).await {
                Ok(_) => return Ok(root.generation),
                Err(store::Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    /// An apply of what is wanted already. Where something is stuck, it asks for another try.
    async fn ask_again(&self, id: &ContextId, root: &Root) -> Result<Generation, Error> {
        let mut done = true;
        self.visit_lanes(id, root, |cluster, lane| {
            let wanted = root.wanted(cluster);
            done &= wanted.is_none() || lane.is_some_and(|lane| lane.is_at(wanted));
        })
        .await?;
        if done {
            return Ok(root.generation);
        }
        self.change(id, |root| {
            root.attempt += 1;
            true
        })
        .await
    }
}

#[async_trait]
impl Synchronizer for Contexts {
    async fn apply(&self, context: &AppContext) -> Result<Generation, Error> {
        if context.placements.len() > CLUSTERS_MAX {
            return Err(Error::Invalid {
                reason: format!("an app context has at most {CLUSTERS_MAX} clusters"),
            });
        }
        for _ in 0..CONTENTION_TRIES {
            let current = self.root(&context.id).await?;
            let next = writing::next_root(context, current.as_ref().map(|(root, _)| root));
            if let Some((root, _)) = current.as_ref().filter(|(root, _)| root.wants_the_same(&next)) {
                return self.ask_again(&context.id, root).await;
            }
            match self.commit(context, current.as_ref(), &next).await {
                Ok(()) => {
                    if let Some((root, _)) = &current {
                        self.drop_claims_on_untouched(&context.id, root, &next).await?;
                    }
                    return Ok(next.generation);
                }
                Err(Error::Contended { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended { id: context.id.clone() })
    }

    async fn remove(&self, id: &ContextId, removal: Removal) -> Result<Generation, Error> {
        self.change(id, |root| {
            if root.intent == Intent::Absent && root.removal == removal {
                return false;
            }
            root.intent = Intent::Absent;
            root.removal = removal;
            root.paused = false;
            root.generation = root.generation.next();
            true
        })
        .await
    }

    async fn stop(&self, id: &ContextId) -> Result<(), Error> {
        self.change(id, |root| !std::mem::replace(&mut root.paused, true)).await.map(drop)
    }

    async fn resume(&self, id: &ContextId) -> Result<(), Error> {
        self.change(id, |root| std::mem::replace(&mut root.paused, false)).await.map(drop)
    }

    async fn forget(&self, id: &ContextId) -> Result<(), Error> {
        let Some((root, version)) = self.root(id).await? else { return Ok(()) };
        let gone = root.intent == Intent::Absent && self.progress(id).await? == Some(Progress::Done);
        if !gone {
            return Err(Error::NotRemoved { id: id.clone() });
        }
        self.drop_claims(id, &root).await?;
        for prefix in [path::results(id), path::lanes(id), path::manifests(id)] {
            self.delete_below(&prefix).await?;
        }
        // The root goes last: until then a crash leaves a context that can be forgotten again.
        let last = Write::Delete { path: path::root(id), version };
        match self.store.write_one(last).await {
            Ok(_) => Ok(()),
            Err(store::Error::Conflict { found: None, .. }) => Ok(()),
            Err(store::Error::Conflict { .. }) => Err(Error::Contended { id: id.clone() }),
            Err(error) => Err(error.into()),
        }
    }

    async fn status(&self, id: &ContextId) -> Result<Option<ContextStatus>, Error> {
        let Some((root, _)) = self.root(id).await? else { return Ok(None) };
        Ok(Some(self.status_of(id, &root).await?))
    }

    async fn results(&self, id: &ContextId) -> Result<Results, Error> {
        let mut results = Results::new();
        for entry in self.store.list_all(&path::results(id)).await? {
            let Some(cluster) = path::cluster_of(&entry.path, 2) else { continue };
            let outcome: Outcome = entry.document.read()?;
            results.entry(cluster).or_default().insert(outcome.name, outcome.issued);
        }
        Ok(results)
    }

    async fn watch(&self, id: &ContextId) -> Result<StatusStream, Error> {
        self.root(id).await?.ok_or_else(|| Error::NotFound { id: id.clone() })?;
        status::follow(self.clone(), id.clone()).await
    }
}

/// Reads what makes up a context for the engine: root, bundles and lanes.
pub(crate) struct Loaded {
    pub root: Root,
    pub bundles: BTreeMap<dcm_core::hash::ContentHash, Arc<dcm_core::app_context::Bundle>>,
    pub lanes: BTreeMap<ClusterId, (Lane, Version)>,
}

/// Why a context can't be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("the store failed")]
    Store(#[from] store::Error),
    #[error("a stored bundle can't be used")]
    Bundle(#[from] record::BundleError),
}

/// Loads a context; none when it does not exist (any more).
pub(crate) async fn load(store: &dyn Store, id: &ContextId) -> Result<Option<Loaded>, LoadError> {
    let Some(entry) = store.get(&path::root(id)).await? else { return Ok(None) };
    let root: Root = entry.document.read()?;
    let manifests = writing::manifests(store, id).await?;
    let mut bundles = BTreeMap::new();
    for (hash, steps) in &root.bundles {
        bundles.insert(*hash, Arc::new(record::bundle(steps, &manifests)?));
    }
    let mut lanes = BTreeMap::new();
    for entry in store.list_all(&path::lanes(id)).await? {
        if let Some(cluster) = path::cluster_of(&entry.path, 2) {
            lanes.insert(cluster, (entry.document.read()?, entry.version));
        }
    }
    Ok(Some(Loaded { root, bundles, lanes }))
}
