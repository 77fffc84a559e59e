//! What a user gets to work in a logical cloud: kubeconfigs.

use std::collections::BTreeMap;

use crate::kubeconfig::{Access, Admin, ClusterAccess, exec_credential};
use crate::logical_cloud::{ClusterReference, LogicalCloud, User};
use crate::name::{LogicalCloudName, ProjectName, ReferenceName, UserName};
use crate::port::synchronizer::{Error as Failure, Results};
use crate::secret::Secret;

use super::documents::{ClusterDocument, CredentialDocument, Root, Snapshot, read};
use super::error::{Error, Kind};
use super::hold::Hold;
use super::issued::{self, Credentials, Missing};
use super::load::{self, Frozen};
use super::logical_clouds::LogicalClouds;
use super::path::{self, Place};

/// What one user has in one logical cloud, and what is still missing.
#[derive(Debug, Clone)]
pub struct UserAccess {
    /// What there is: it writes kubeconfigs. A user who brought a certificate request gets them without a key.
    pub access: Access,
    /// For how long each credential is to be used.
    pub holds: BTreeMap<ReferenceName, Hold>,
    /// The clusters that the user has no credential for, and why.
    pub missing: BTreeMap<ReferenceName, Missing>,
}

impl UserAccess {
    /// What is said of each cluster that the user has no credential for.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|(reference, missing)| format!("{reference} is left out: {missing}"))
    }
}

impl LogicalClouds {
    /// A user's newest credential for a cluster, as a client of Kubernetes takes it from a plugin (see [`exec_credential`]).
    ///
    /// # Errors
    /// Those of [`kubeconfigs`](Self::kubeconfigs); [`Error::KeepsKey`] for a user who keeps the private key.
    pub async fn exec_credential(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: &ReferenceName,
    ) -> Result<Secret, Error> {
        let found = self.kubeconfigs(project, cloud, Some(user), Some(reference)).await?;
        let (access, hold) = (found.access.clusters.get(reference), found.holds.get(reference));
        // There is nothing for the one reference only with the reason, as an error.
        let said =
            access.zip(hold).and_then(|(access, hold)| exec_credential(&access.credential, hold.until));
        said.ok_or_else(|| Error::KeepsKey { user: user.clone() })
    }

    /// What a user has in a logical cloud that is applied: for one of its clusters, or for all. Each certificate is
    /// checked before it is handed out. A cloud with one user needs none named. For all clusters, those without a
    /// credential yet are named in [`UserAccess::missing`].
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; [`Error::UserNotNamed`]; [`Error::NotIssued`] and
    /// [`Error::Certificate`] when there is nothing to hand out; [`Error::Kubeconfig`]; errors of the store and the
    /// synchronizer.
    pub async fn kubeconfigs(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
        reference: Option<&ReferenceName>,
    ) -> Result<UserAccess, Error> {
        let store = &*self.documents;
        let (loaded, applied) = load::load_with(store, project, cloud, Root::applied_snapshot).await?;
        let not_applied = || Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() };
        let applied = applied.ok_or_else(not_applied)?;
        let user = &choose_user(&loaded.cloud, &applied.cloud, user)?.metadata.name;
        let references = choose_references(&loaded.cloud, &applied.cloud, reference)?;
        let namespace = applied.snapshot.namespace.clone().ok_or_else(not_applied)?;
        let access = Access {
            project: project.clone(),
            logical_cloud: cloud.clone(),
            user: user.clone(),
            namespace,
            clusters: BTreeMap::new(),
        };
        self.fill(access, &loaded.place, &applied, references).await
    }

    /// Adds what the user has in each of these clusters.
    async fn fill(
        &self,
        mut access: Access,
        place: &Place,
        Frozen { snapshot, cloud }: &Frozen,
        references: Vec<&ClusterReference>,
    ) -> Result<UserAccess, Error> {
        let document = self.credential(place, &access.user).await?;
        let results = self.needed_results(place, snapshot, document.as_ref(), &references).await?;
        let mut credentials =
            Credentials { place, snapshot, results: &results, status: None, now: self.clock.now() };
        let of = |credentials: &Credentials<'_>, reference: &ClusterReference| {
            credentials.of(&access.user, document.as_ref(), &reference.cluster)
        };
        let mut found: Vec<_> = references.iter().map(|reference| of(&credentials, reference)).collect();
        // Only the reason of what is missing is in the status, which holds all clusters.
        let is_missing = |found: &Result<_, _>| matches!(found, Err(Missing::NotIssued { .. }));
        let status = match found.iter().any(is_missing) {
            true => self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?,
            false => None,
        };
        credentials.status = status.as_ref();
        for (found, reference) in found.iter_mut().zip(&references).filter(|(found, _)| is_missing(found)) {
            *found = of(&credentials, reference);
        }
        let (mut holds, mut missing) = (BTreeMap::new(), BTreeMap::new());
        let delay = document.as_ref().map(|document| document.renewal_delay).unwrap_or_default();
        for (reference, found) in references.into_iter().zip(found) {
            let name = reference.metadata.name.clone();
            match found {
                Ok(checked) => {
                    let cluster = self.where_it_is(reference).await?;
                    holds.insert(name.clone(), Hold::of(&checked, delay, credentials.now));
                    let credential = checked.credential;
                    access.clusters.insert(name, ClusterAccess { cluster, credential });
                }
                Err(reason) => drop(missing.insert(name, reason)),
            }
        }
        something(UserAccess { access, holds, missing }, cloud)
    }

    /// A user's stored credential.
    async fn credential(&self, place: &Place, user: &UserName) -> Result<Option<CredentialDocument>, Error> {
        match self.documents.get(&place.credential(user)).await? {
            Some(entry) => Ok(Some(read(&entry)?)),
            None => Ok(None),
        }
    }

    /// What clusters issued, as far as it is needed for one user in these clusters: of one cluster, the newest.
    async fn needed_results(
        &self,
        place: &Place,
        snapshot: &Snapshot,
        document: Option<&CredentialDocument>,
        references: &[&ClusterReference],
    ) -> Result<Results, Error> {
        let (Some(document), [reference]) = (document, references) else { return self.results(place).await };
        let cluster = &reference.cluster;
        for credential in issued::wanted(snapshot, document) {
            let step = issued::step(&document.user, credential);
            match self.synchronizer.result(&place.context_id(), cluster, &step).await {
                Ok(Some(issued)) => {
                    return Ok(Results::from([(cluster.clone(), BTreeMap::from([(step, issued)]))]));
                }
                Ok(None) => {}
                Err(Failure::NotFound { .. }) => break,
                Err(error) => return Err(Error::Synchronizer(error)),
            }
        }
        Ok(Results::new())
    }

    /// What clusters issued; nothing for a context that the synchronizer does not know.
    pub(super) async fn results(&self, place: &Place) -> Result<Results, Error> {
        match self.synchronizer.results(&place.context_id()).await {
            Ok(results) => Ok(results),
            Err(Failure::NotFound { .. }) => Ok(Results::new()),
            Err(error) => Err(Error::Synchronizer(error)),
        }
    }

    async fn where_it_is(&self, reference: &ClusterReference) -> Result<Admin, Error> {
        let cluster = &reference.cluster;
        let entry = self.documents.get(&path::cluster(cluster)).await?;
        let entry = entry.ok_or_else(|| Error::not_found(Kind::Cluster, cluster))?;
        let document: ClusterDocument = read(&entry)?;
        Admin::read(&document.kubeconfig)
            .map_err(|source| Error::Kubeconfig { cluster: cluster.clone(), source })
    }
}

/// The user named, or the only one. `edited` is the cloud as its documents are, `applied` as it is on clusters.
fn choose_user<'a>(
    edited: &LogicalCloud,
    applied: &'a LogicalCloud,
    user: Option<&UserName>,
) -> Result<&'a User, Error> {
    let Some(name) = user else {
        return match applied.users() {
            [only] => Ok(only),
            users => {
                let users = users.iter().map(|user| user.metadata.name.clone()).collect();
                Err(Error::UserNotNamed { users })
            }
        };
    };
    applied.user(name).ok_or_else(|| match edited.user(name) {
        Some(_) => Error::NotApplied { kind: Kind::User, name: name.to_string() },
        None => Error::not_found(Kind::User, name),
    })
}

fn choose_references<'a>(
    edited: &LogicalCloud,
    applied: &'a LogicalCloud,
    reference: Option<&ReferenceName>,
) -> Result<Vec<&'a ClusterReference>, Error> {
    let Some(name) = reference else { return Ok(applied.references().iter().collect()) };
    let is_it = |reference: &&ClusterReference| reference.metadata.name == *name;
    match applied.references().iter().find(is_it) {
        Some(found) => Ok(vec![found]),
        None if edited.references().iter().any(|reference| is_it(&reference)) => {
            Err(Error::NotApplied { kind: Kind::Reference, name: name.to_string() })
        }
        None => Err(Error::not_found(Kind::Reference, name)),
    }
}

/// Refuses an access with nothing in it but reasons.
fn something(access: UserAccess, cloud: &LogicalCloud) -> Result<UserAccess, Error> {
    let Some((reference, missing)) = access.missing.first_key_value() else { return Ok(access) };
    if !access.access.clusters.is_empty() {
        return Ok(access);
    }
    let user = access.access.user.clone();
    match missing {
        Missing::Refused(source) => {
            let found = cloud.references().iter().find(|one| one.metadata.name == *reference);
            let cluster = found.map(|found| found.cluster.clone());
            let cluster = cluster.ok_or_else(|| Error::not_found(Kind::Reference, reference))?;
            Err(Error::Certificate { user, cluster, source: Box::new(source.clone()) })
        }
        missing => {
            Err(Error::NotIssued { user, reference: reference.clone(), missing: Box::new(missing.clone()) })
        }
    }
}
