//! Which cluster a name stands for.

use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::Error;

use super::Contexts;
use crate::record::{self, Shard, path};

impl Contexts {
    /// What a cluster said it is when a worker first reached it; none before that.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn cluster_uid(&self, cluster: &ClusterId) -> Result<Option<ClusterUid>, Error> {
        let Some(entry) = self.store.get(&path::shard(cluster)).await? else { return Ok(None) };
        let shard: Shard = record::read(&entry)?;
        Ok(shard.identity)
    }
}
