//! Handing out kubeconfigs and credentials, and remembering where they locate clusters: the status names the users that need another one.
//!
//! Each time that one is handed out is an entry of the audit log: who asked, for which user, and for which clusters. The entry is
//! written first; where it can't be written, nothing is handed out.
//!
//! Credentials are renewed by themselves, and a file may even name a plugin for them. The address of a cluster and the
//! authorities that it is verified with are in every file, and only its user can replace them.

use std::collections::{BTreeMap, BTreeSet};

use crate::app_context::Generation;
use crate::kubeconfig::Access;
use crate::logical_cloud::LogicalCloud;
use crate::name::{ClusterId, LogicalCloudName, ProjectName, ReferenceName, UserName};
use crate::port::audit::{About, Action};
use crate::port::store::{Document, StoreExt as _};
use crate::secret::Secret;

use super::access::{UserAccess, locate};
use super::audited::about;
use super::caller::Caller;
use super::documents::{HandedOut, SCHEMA, read};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES};
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::resolve;
use super::writing;

/// What a kubeconfig is called in the audit log.
const KUBECONFIG: &str = "kubeconfig";

/// What a credential without a kubeconfig is called in the audit log.
const CREDENTIAL: &str = "credential";

/// What handing something out is about.
fn handed(
    project: &ProjectName,
    cloud: &LogicalCloudName,
    user: &UserName,
    clusters: BTreeSet<ClusterId>,
    what: &str,
) -> About {
    About {
        users: BTreeSet::from([user.clone()]),
        clusters,
        detail: what.to_owned(),
        ..about(project, cloud)
    }
}

impl LogicalClouds {
    /// Hands out what a user has in a logical cloud, as [`kubeconfigs`](Self::kubeconfigs) reads it, and keeps that in the audit log.
    ///
    /// # Errors
    /// Those of [`kubeconfigs`](Self::kubeconfigs); [`Error::Audit`], then nothing is handed out.
    pub async fn hand_out(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
        reference: Option<&ReferenceName>,
    ) -> Result<UserAccess, Error> {
        let found = self.kubeconfigs(project, cloud, user, reference).await?;
        let clusters = found.clusters.clone();
        let about = handed(project, cloud, &found.access.user, clusters, KUBECONFIG);
        self.audited(caller, Action::HandOut, about, async { Ok(None::<Generation>) }).await?;
        Ok(found)
    }

    /// Hands out a user's newest credential for a cluster, as [`exec_credential`](Self::exec_credential) reads it, and keeps that in
    /// the audit log.
    ///
    /// # Errors
    /// Those of [`exec_credential`](Self::exec_credential); [`Error::Audit`], then nothing is handed out.
    pub async fn hand_out_credential(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: &ReferenceName,
    ) -> Result<Secret, Error> {
        let (cluster, credential) = self.credential_for(project, cloud, user, reference).await?;
        let about = handed(project, cloud, user, BTreeSet::from([cluster]), CREDENTIAL);
        self.audited(caller, Action::HandOut, about, async { Ok(None::<Generation>) }).await?;
        Ok(credential)
    }

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
