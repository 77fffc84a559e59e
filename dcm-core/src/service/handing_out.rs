//! Remembering what kubeconfigs said of clusters, so that it is known who needs another one.
//!
//! Credentials are renewed by themselves, and a file may even name a plugin for them. The address of a cluster and the
//! authorities that it is verified with are in every file, and only its user can replace them.

use std::collections::{BTreeMap, BTreeSet};

use crate::kubeconfig::Access;
use crate::logical_cloud::LogicalCloud;
use crate::name::{ClusterId, ReferenceName, UserName};
use crate::port::store::{Document, StoreExt as _};

use super::access::locate;
use super::caller::Caller;
use super::documents::{HandedOut, SCHEMA, read};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES};
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::resolve;
use super::writing;

impl LogicalClouds {
    /// Remembers that a user was given this. The status then tells when one of these clusters has another address or other
    /// authorities.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn handed_out(&self, caller: &Caller, access: &Access) -> Result<(), Error> {
        let Access { project, logical_cloud, user, clusters, .. } = access;
        let given = clusters.iter().map(|(reference, access)| (reference.clone(), access.cluster.digest()));
        let given: BTreeMap<ReferenceName, String> = given.collect();
        let store = &*self.documents;
        for _ in 0..CONTENTION_TRIES {
            let (place, ..) = load::standing(store, project, logical_cloud).await?;
            let path = place.handed_out(user);
            let entry = store.get(&path).await?;
            let before = entry.as_ref().map(read::<HandedOut>).transpose()?;
            let mut known = before.as_ref().map(|before| before.clusters.clone()).unwrap_or_default();
            known.extend(given.clone());
            if before.is_some_and(|before| before.clusters == known) {
                return Ok(());
            }
            let changed = self.change(caller);
            let document = HandedOut { schema: SCHEMA, user: user.clone(), clusters: known, changed };
            let write = writing::put(path.clone(), entry.as_ref(), Document::from_value(&document)?);
            match store.write_one(write).await.map_err(Error::from) {
                Ok(_) => return self.unless_gone(&place, user).await,
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(Kind::User, user))
    }

    /// Whoever deletes the cloud may have looked for this before it was written.
    async fn unless_gone(&self, place: &Place, user: &UserName) -> Result<(), Error> {
        if self.found(place).await?.is_none() {
            let entry = self.documents.get(&place.handed_out(user)).await?;
            writing::delete(&*self.documents, entry.iter()).await?;
        }
        Ok(())
    }

    /// The clusters of which users have files that say something else than what is registered.
    pub(super) async fn outdated(
        &self,
        place: &Place,
        cloud: &LogicalCloud,
    ) -> Result<BTreeMap<UserName, BTreeSet<ClusterId>>, Error> {
        let entries = self.documents.list_all(&place.all_handed_out()).await?;
        if entries.is_empty() {
            return Ok(BTreeMap::new());
        }
        let registered = self.registrations(&resolve::clusters_of(cloud)).await?;
        // Of a cluster that nobody can be told the address of, no file says another one.
        let digest = |cluster: &ClusterId| Some(locate(cluster, registered.get(cluster)).ok()?.digest());
        let references = cloud.references().iter();
        let now: BTreeMap<&ReferenceName, (&ClusterId, String)> = references
            .filter_map(|one| Some((&one.metadata.name, (&one.cluster, digest(&one.cluster)?))))
            .collect();
        let mut outdated = BTreeMap::new();
        for entry in &entries {
            let HandedOut { user, clusters, .. } = read(entry)?;
            let others = clusters.iter().filter_map(|(reference, given)| {
                now.get(reference)
                    .filter(|(_, digest)| digest != given)
                    .map(|(cluster, _)| (*cluster).clone())
            });
            outdated.insert(user, others.collect());
        }
        Ok(outdated)
    }
}
