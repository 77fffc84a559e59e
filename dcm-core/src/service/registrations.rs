//! Reading what is registered of clusters: few are asked for by name, many are listed.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::name::ClusterId;
use crate::port::store::{self, Entry, PageRequest, StoreExt as _};

use super::logical_clouds::LogicalClouds;
use super::path;

/// Up to so many clusters are read one by one; more are listed, and those that nobody asked for are passed over.
const SINGLE_READS_MAX: usize = 64;

/// So many documents are asked for at once: enough that the way to the store is not waited for each time, and few enough that
/// others get their turn.
pub(super) const READS_AT_ONCE: usize = 16;

/// What is stored of clusters. A document that can't be read is among them: whoever reads it decides what that means.
pub(super) type Registrations = BTreeMap<ClusterId, Entry>;

impl LogicalClouds {
    /// What is registered of those of these clusters that are.
    pub(super) async fn registrations(
        &self,
        clusters: &BTreeSet<&ClusterId>,
    ) -> Result<Registrations, store::Error> {
        if clusters.len() > SINGLE_READS_MAX {
            let is_wanted = |cluster: &ClusterId| clusters.contains(cluster);
            return self.registrations_where(is_wanted).await;
        }
        let reads: Vec<_> = clusters.iter().map(|cluster| self.registration(cluster)).collect();
        let found = stream::iter(reads).buffered(READS_AT_ONCE).try_collect::<Vec<_>>().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// What is registered of all clusters of this kind. Only those are kept in memory.
    pub(super) async fn registrations_where(
        &self,
        is_wanted: impl Fn(&ClusterId) -> bool + Send + Sync,
    ) -> Result<Registrations, store::Error> {
        let wanted = |entry: Entry| Some((path::of_cluster(&entry.path).filter(&is_wanted)?, entry));
        let pages = self.documents.pages(path::clusters(), PageRequest::default());
        let wanted = pages.map_ok(|page| page.into_iter().filter_map(wanted).collect::<Vec<_>>());
        Ok(wanted.try_concat().await?.into_iter().collect())
    }

    async fn registration(&self, cluster: &ClusterId) -> Result<Option<(ClusterId, Entry)>, store::Error> {
        let entry = self.documents.get(&path::cluster(cluster)).await?;
        Ok(entry.map(|entry| (cluster.clone(), entry)))
    }
}
