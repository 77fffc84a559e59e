//! Which cluster a name stands for.

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::store::{Entry, StoreExt as _};
use dcm_core::port::synchronizer::{Error, Synchronizer as _};

use super::changing::{CONTENTION_TRIES, contended};
use super::writing::Deleted;
use super::{Contexts, claims, deletion};
use crate::identities;
use crate::record::{self, Lane, Root, Shard, path};

impl Contexts {
    /// What a cluster said it is when a worker first reached it; none before that.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn cluster_uid(&self, cluster: &ClusterId) -> Result<Option<ClusterUid>, Error> {
        let shard = self.read::<Shard>(&path::shard(cluster)).await?;
        Ok(shard.and_then(|(shard, _)| shard.identity))
    }

    /// The name under which a cluster of this UID is worked on; none where there is none.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn identity_holder(&self, uid: &ClusterUid) -> Result<Option<ClusterId>, Error> {
        Ok(identities::holder(&*self.store, uid).await?)
    }

    /// Takes another cluster as the one that a name stands for from now on. All that was recorded of the old one is
    /// dropped, what it issued included: app contexts are brought to the new one as to any that they were never on. On
    /// the old one nothing is changed.
    ///
    /// # Errors
    /// [`Error::SameCluster`]; [`Error::Store`].
    pub async fn accept_cluster(&self, cluster: &ClusterId, uid: &ClusterUid) -> Result<(), Error> {
        let known = self.cluster_uid(cluster).await?;
        if known.as_ref().is_none_or(|known| known == uid) {
            return Ok(());
        }
        self.hold_identity(cluster, uid).await?;
        // First: until the record says so, no worker touches the cluster, and a crash leaves what can be done again.
        self.drop_lanes_on(cluster).await?;
        let accept = |shard: &mut Shard| {
            // Somebody else may have accepted another one meanwhile.
            if shard.identity == known {
                shard.identity = Some(uid.clone());
            }
        };
        let shard = self.change_shard(cluster, accept).await?;
        if shard.identity.as_ref() == Some(uid) { Ok(()) } else { Err(contended(&path::shard(cluster))) }
    }

    async fn drop_lanes_on(&self, cluster: &ClusterId) -> Result<(), Error> {
        let is_there = |entry: &Entry| path::cluster_of(&entry.path).as_ref() == Some(cluster);
        let results = self.store.list_all(&path::all_results()).await?;
        self.delete_all(results.iter().filter(|entry| is_there(entry)).map(deletion).collect()).await?;
        for entry in self.store.list_all(&path::all_lanes()).await?.iter().filter(|entry| is_there(entry)) {
            if let Some(context) = path::context_of_lane(&entry.path) {
                self.drop_lane(&context, cluster).await?;
            }
        }
        Ok(())
    }

    /// Drops a lane, and the claims of one that was to be removed: no worker has to look there any more. What was planned for
    /// the other cluster binds nobody on this one.
    async fn drop_lane(&self, context: &ContextId, cluster: &ClusterId) -> Result<(), Error> {
        let unbind = |root: &mut Root| root.planned.clusters.remove(cluster).is_some();
        match self.change(context, unbind).await {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let path = path::lane(context, cluster);
        for _ in 0..CONTENTION_TRIES {
            let Some(entry) = self.store.get(&path).await? else { return self.bury(context).await };
            let lane: Lane = record::read(&entry)?;
            let root = self.root(context).await?;
            let mut deletions = Vec::new();
            if root.is_none_or(|(root, _)| root.wanted(cluster).is_none()) {
                deletions.extend(self.own_claims(context, &claims::of_lane(cluster, &lane)).await?);
            }
            deletions.push(deletion(&entry));
            // A worker may have written it meanwhile.
            if self.delete_all(deletions).await? == Deleted::Gone {
                return self.bury(context).await;
            }
        }
        Err(contended(&path))
    }

    /// True when the store knows of an app context, be it only to clear what is left of it.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn knows(&self, context: &ContextId) -> Result<bool, Error> {
        Ok(self.store.get(&path::root(context)).await?.is_some())
    }
}
