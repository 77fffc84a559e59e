//! App contexts in the store: the [`Synchronizer`] that the engine's records make up.
//!
//! Nothing here talks to a cluster. A worker, in this process or in another one on the same store, sees the root
//! record change and does the work.

mod changing;
mod claiming;
mod claims;
mod fitting;
mod forgetting;
mod identity;
mod prospect;
mod reconciling;
mod status;
mod stopping;
mod tombstones;
mod waiting;
mod workers;
mod writing;

pub use prospect::{LaneProspect, Prospect};
pub use workers::WorkerSession;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::{AppContext, CLUSTERS_MAX, Generation};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::proof::ProofKey;
use dcm_core::port::store::{self, Store, StoreExt, Version};
use dcm_core::port::synchronizer::{
    Condition, Error, Issued, Removal, Results, StatusStream, Synchronizer, Tombstone,
};
use dcm_core::status::{ContextStatus, Intent, LaneStatus, Progress};

use self::changing::CONTENTION_TRIES;
use self::writing::deletion;
use crate::identities;
use crate::proofs;
use crate::record::{self, Lane, Outcome, Root, path};

/// App contexts over a store. Cheap to clone.
#[derive(Clone)]
pub struct Contexts {
    store: Arc<dyn Store>,
    /// Measures how long others show no sign of life.
    clock: Arc<dyn Clock>,
}

impl Contexts {
    /// App contexts in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// What proves the marks on objects ([`dcm_core::port::proof`]); none while no engine has run on the store.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn proof_key(&self) -> Result<Option<ProofKey>, Error> {
        Ok(proofs::key(&*self.store).await?)
    }

    /// How far a context with this root is.
    async fn progress(&self, id: &ContextId, root: &Root) -> Result<Progress, Error> {
        let mut progress = Progress::Done;
        self.visit_lanes(id, root, |cluster, lane| {
            progress = status::progress_with(progress, root, cluster, lane);
        })
        .await?;
        Ok(progress)
    }

    async fn root(&self, id: &ContextId) -> Result<Option<(Root, Version)>, Error> {
        self.read(&path::root(id)).await
    }

    /// The root of a context that is not forgotten.
    async fn known_root(&self, id: &ContextId) -> Result<Option<(Root, Version)>, Error> {
        Ok(self.root(id).await?.filter(|(root, _)| !root.forgotten))
    }

    /// Visits the record of each lane, one at a time as there may be many, and then the clusters that have none yet.
    async fn visit_lanes(
        &self,
        id: &ContextId,
        root: &Root,
        mut visit: impl FnMut(&ClusterId, Option<&Lane>) + Send,
    ) -> Result<(), Error> {
        let mut unrecorded: BTreeSet<&ClusterId> = root.concerned().collect();
        for entry in self.store.list_all(&path::lanes(id)).await? {
            if let Some(cluster) = path::cluster_of(&entry.path) {
                unrecorded.remove(&cluster);
                visit(&cluster, Some(&record::read(&entry)?));
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

    /// Changes a root by compare-and-swap, and gives its generation and version; `change` says whether there is something
    /// to write.
    async fn change(
        &self,
        id: &ContextId,
        change: impl Fn(&mut Root) -> bool + Send + Sync,
    ) -> Result<(Generation, Version), Error> {
        for _ in 0..CONTENTION_TRIES {
            let found = self.known_root(id).await?.filter(|(root, _)| !root.forgetting);
            let (mut root, version) = found.ok_or_else(|| Error::NotFound { id: id.clone() })?;
            let version = match change(&mut root) {
                true => self.replace_root(id, version, &root).await?,
                false => Some(version),
            };
            if let Some(version) = version {
                return Ok((root.generation, version));
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    /// Replaces a root that has this version, and gives its new one; none when somebody else was quicker.
    async fn replace_root(
        &self,
        id: &ContextId,
        version: Version,
        root: &Root,
    ) -> Result<Option<Version>, Error> {
        self.swap(path::root(id), Some(version), root).await
    }

    /// Applies, when nobody else changes the same meanwhile.
    async fn try_apply(&self, context: &AppContext, condition: &Condition) -> Result<Generation, Error> {
        let (root, version) = match self.remembered(&context.id).await? {
            Some((root, version)) => (root, Some(version)),
            None => (self.unused_root(&context.id).await?, None),
        };
        let mut next = writing::next_root(context, &root, self.next_generation(&root).await?);
        // An apply that was cut off may have claimed what nobody wants: a root that comes after it gives that up.
        let is_again = root.wants_the_same(&next) && self.settle_claiming(context).await?;
        let generation = if is_again { root.generation } else { next.generation };
        if let Condition::AsPlanned(planned) = condition
            && !planned.is_of(context, generation)
        {
            return Err(Error::Stale { id: context.id.clone() });
        }
        if is_again {
            self.complete_manifests(context).await?;
            return match self.ask_again(&context.id, &root, condition).await {
                // Somebody forgot it meanwhile.
                Err(Error::NotFound { id }) => Err(Error::Contended { id }),
                asked => asked,
            };
        }
        next.planned = root.planned.next(condition);
        if *condition == Condition::Withdraw {
            next.withdraws = Some(next.generation);
        }
        let version = match version {
            Some(version) => version,
            None => self.begin(context, &root).await?,
        };
        self.commit(context, &root, version, next).await
    }

    /// Removes, when nobody else changes the same meanwhile.
    async fn try_remove(&self, id: &ContextId, removal: Removal) -> Result<Generation, Error> {
        // Who removes it says whose state is true: what clusters hold of later generations goes, too.
        let seen = self.newest_seen(id).await?;
        let is_removed =
            |root: &Root| root.intent == Intent::Absent && root.removal == removal && root.overrules >= seen;
        if let Some((root, _)) = self.known_root(id).await?.filter(|(root, _)| is_removed(root)) {
            return self.ask_again(id, &root, &Condition::Always).await;
        }
        let remove = |root: &mut Root| {
            if is_removed(root) {
                return false;
            }
            root.intent = Intent::Absent;
            root.removal = removal;
            root.paused = false;
            root.planned = root.planned.none();
            if root.overrules < seen {
                root.overrules = seen;
                root.generation = root.generation.max(seen.unwrap_or_default());
            }
            if !root.is_unused() {
                root.generation = root.generation.next();
            }
            true
        };
        self.change(id, remove).await.map(|(generation, _)| generation)
    }

    /// Asks for another look at each cluster, and another try, for an apply or a removal that changes nothing. A removal that is over asks
    /// for nothing.
    async fn ask_again(
        &self,
        id: &ContextId,
        root: &Root,
        condition: &Condition,
    ) -> Result<Generation, Error> {
        if root.intent == Intent::Absent {
            let mut is_over = true;
            self.visit_lanes(id, root, |_, lane| is_over &= lane.is_none_or(|lane| lane.is_at(None))).await?;
            if is_over {
                return Ok(root.generation);
            }
        }
        let ask = |now: &mut Root| {
            let is_the_same = now.generation == root.generation;
            if is_the_same {
                now.attempt += 1;
                now.planned = now.planned.again(condition);
            }
            is_the_same
        };
        let (generation, _) = self.change(id, ask).await?;
        if generation == root.generation { Ok(generation) } else { Err(Error::Contended { id: id.clone() }) }
    }
}

/// Does what somebody else may come between, until nobody does.
async fn contending<F: Future<Output = Result<Generation, Error>>>(
    once: impl Fn() -> F,
    id: &ContextId,
) -> Result<Generation, Error> {
    for _ in 0..CONTENTION_TRIES {
        match once().await {
            Err(Error::Contended { .. }) => {}
            other => return other,
        }
    }
    Err(Error::Contended { id: id.clone() })
}

#[async_trait]
impl Synchronizer for Contexts {
    async fn identity(&self, cluster: &ClusterId) -> Result<Option<ClusterUid>, Error> {
        self.cluster_uid(cluster).await
    }

    async fn hold_identity(&self, cluster: &ClusterId, uid: &ClusterUid) -> Result<(), Error> {
        match identities::claim(&*self.store, cluster, uid).await? {
            None => Ok(()),
            Some(first) => Err(Error::SameCluster { cluster: cluster.clone(), first }),
        }
    }

    async fn release_identity(&self, cluster: &ClusterId) -> Result<(), Error> {
        // First: a worker that is connected by this name leaves the cluster.
        if self.cluster_uid(cluster).await?.is_some() {
            self.change_shard(cluster, |shard| shard.identity = None).await?;
        }
        Ok(identities::release(&*self.store, cluster).await?)
    }

    async fn apply_on(&self, context: &AppContext, condition: &Condition) -> Result<Generation, Error> {
        if context.placements.len() > CLUSTERS_MAX {
            let reason = format!("an app context has at most {CLUSTERS_MAX} clusters");
            return Err(Error::Invalid { reason });
        }
        fitting::check(context)?;
        contending(|| self.try_apply(context, condition), &context.id).await
    }

    async fn remove(&self, id: &ContextId, removal: Removal) -> Result<Generation, Error> {
        contending(|| self.try_remove(id, removal), id).await
    }

    async fn look_again(&self, id: &ContextId) -> Result<(), Error> {
        match self.change(id, |root| !root.paused && root.ask_again()).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn reconcile(&self, id: &ContextId) -> Result<Generation, Error> {
        self.take_as_truth(id).await
    }

    async fn stop(&self, id: &ContextId, limit: Duration) -> Result<(), Error> {
        self.stop_context(id, limit).await
    }

    async fn resume(&self, id: &ContextId) -> Result<(), Error> {
        let resume = |root: &mut Root| {
            let was_paused = std::mem::replace(&mut root.paused, false);
            root.ask_again() || was_paused
        };
        self.change(id, resume).await.map(drop)
    }

    async fn stop_cluster(&self, cluster: &ClusterId, limit: Duration) -> Result<(), Error> {
        self.stop_all_on(cluster, limit).await
    }

    async fn resume_cluster(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.resume_all_on(cluster).await
    }

    async fn is_stopped(&self, cluster: &ClusterId) -> Result<bool, Error> {
        self.is_stopped_on(cluster).await
    }

    async fn stopped_clusters(&self) -> Result<BTreeSet<ClusterId>, Error> {
        self.all_stopped().await
    }

    async fn forget(&self, id: &ContextId) -> Result<(), Error> {
        self.forget_removed(id).await
    }

    async fn discard(&self, id: &ContextId, removal: Removal) -> Result<(), Error> {
        self.discard_context(id, removal).await
    }

    async fn tombstones(&self, cluster: &ClusterId) -> Result<Vec<Tombstone>, Error> {
        self.tombstones_on(cluster).await
    }

    async fn drop_tombstones(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.drop_tombstones_on(cluster).await
    }

    async fn status(&self, id: &ContextId) -> Result<Option<ContextStatus>, Error> {
        let Some((root, _)) = self.known_root(id).await? else { return Ok(None) };
        Ok(Some(self.status_of(id, &root).await?))
    }

    async fn lane(&self, id: &ContextId, cluster: &ClusterId) -> Result<Option<LaneStatus>, Error> {
        let Some((root, _)) = self.known_root(id).await? else { return Ok(None) };
        let lane: Option<(Lane, _)> = self.read(&path::lane(id, cluster)).await?;
        let is_meant = lane.is_some() || root.concerned().any(|concerned| concerned == cluster);
        let lane = lane.map(|(lane, _)| lane);
        Ok(is_meant.then(|| status::of_lane(&root, cluster, lane.as_ref())).flatten())
    }

    async fn results(&self, id: &ContextId) -> Result<Results, Error> {
        let mut results = Results::new();
        for entry in self.store.list_all(&path::results(id)).await? {
            let Some(cluster) = path::cluster_of(&entry.path) else { continue };
            let outcome: Outcome = record::read(&entry)?;
            results.entry(cluster).or_default().insert(outcome.name, outcome.issued);
        }
        Ok(results)
    }

    async fn result(
        &self,
        id: &ContextId,
        cluster: &ClusterId,
        request: &str,
    ) -> Result<Option<Issued>, Error> {
        let Some(entry) = self.store.get(&path::result(id, cluster, request)).await? else { return Ok(None) };
        let outcome: Outcome = record::read(&entry)?;
        // The path holds a digest of the name.
        Ok((*outcome.name == *request).then_some(outcome.issued))
    }

    async fn watch(&self, id: &ContextId) -> Result<StatusStream, Error> {
        self.known_root(id).await?.ok_or_else(|| Error::NotFound { id: id.clone() })?;
        status::follow(self.clone(), id.clone()).await
    }

    async fn wait_until_done(&self, id: &ContextId) -> Result<ContextStatus, Error> {
        self.wait_for_lanes(id).await
    }
}

/// Reads what makes up a context for the engine: root, bundles and lanes.
pub(crate) struct Loaded {
    pub root: Root,
    pub version: Version,
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
    #[error("the reading broke off")]
    BrokeOff,
}

/// Loads a context; none when it does not exist (any more).
pub(crate) async fn load(store: &dyn Store, id: &ContextId) -> Result<Option<Loaded>, LoadError> {
    let Some(entry) = store.get(&path::root(id)).await? else { return Ok(None) };
    let root: Root = record::read(&entry)?;
    let mut bundles = BTreeMap::new();
    // What is to be removed is known from the lanes.
    if root.intent == Intent::Present {
        let manifests = writing::manifests(store, id).await?;
        for (hash, placed) in root.placements.bundles() {
            bundles.insert(hash, Arc::new(record::bundle(&placed.steps, &manifests)?));
        }
    }
    let mut lanes = BTreeMap::new();
    for entry in store.list_all(&path::lanes(id)).await? {
        if let Some(cluster) = path::cluster_of(&entry.path) {
            lanes.insert(cluster, (record::read(&entry)?, entry.version));
        }
    }
    Ok(Some(Loaded { root, version: entry.version, bundles, lanes }))
}
