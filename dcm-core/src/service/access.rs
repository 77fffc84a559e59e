//! What a user gets to work in a logical cloud: kubeconfigs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::kubeconfig::{Access, Admin, ClusterAccess, Credential, exec_credential};
use crate::logical_cloud::{ClusterReference, LogicalCloud, User};
use crate::name::{ClusterId, LogicalCloudName, ProjectName, ReferenceName, UserName};
use crate::port::store::Entry;
use crate::port::synchronizer::{Error as Failure, Results};
use crate::secret::Secret;

use super::clusters;
use super::documents::{ClusterDocument, CredentialDocument, Root, Snapshot, read};
use super::error::{Error, Kind};
use super::hold::Hold;
use super::issued::{self, Checked, Credentials, Missing};
use super::load::{self, Frozen, Loaded};
use super::logical_clouds::LogicalClouds;
use super::path::Place;

/// What one user has in one logical cloud, and what is still missing.
#[derive(Debug, Clone)]
pub struct UserAccess {
    /// What there is: it writes kubeconfigs. A user who brought a certificate request gets them without a key.
    pub access: Access,
    /// For how long each credential is to be used.
    pub holds: BTreeMap<ReferenceName, Hold>,
    /// The clusters that something is handed out for.
    pub clusters: BTreeSet<ClusterId>,
    /// The clusters that nothing can be handed out for, and why: no other one goes without for it.
    pub missing: BTreeMap<ReferenceName, Missing>,
}

impl UserAccess {
    /// What is said of each cluster that nothing is handed out for.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|(reference, missing)| format!("{reference} is left out: {missing}"))
    }
}

impl LogicalClouds {
    /// A user's newest credential for a cluster, as a client of Kubernetes takes it from a plugin (see [`exec_credential`]). What is
    /// registered of the cluster is not read: a caller with a plugin knows where it is. Nothing is kept in the audit log; see
    /// [`hand_out_credential`](Self::hand_out_credential).
    ///
    /// # Errors
    /// Those of [`kubeconfigs`](Self::kubeconfigs) but for registrations; [`Error::KeepsKey`] for a user who keeps the private key.
    pub async fn exec_credential(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: &ReferenceName,
    ) -> Result<Secret, Error> {
        self.credential_for(project, cloud, user, reference).await.map(|(_, credential)| credential)
    }

    /// A user's newest credential as a plugin gives it, and the cluster that it is for.
    pub(super) async fn credential_for(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: &ReferenceName,
    ) -> Result<(ClusterId, Secret), Error> {
        let (loaded, applied) = self.applied(project, cloud).await?;
        let user = &choose_user(&loaded.cloud, &applied.cloud, Some(user))?.metadata.name;
        let references = choose_references(&loaded.cloud, &applied.cloud, Some(reference))?;
        let document = self.credential(&loaded.place, user).await?;
        let (document, now) = (document.as_ref(), self.clock.now());
        let issued =
            self.issued(&loaded.place, &applied.snapshot, (user, document), &references, now).await?;
        let Some((reference, found)) = references.into_iter().zip(issued).next() else {
            return Err(Error::not_found(Kind::Reference, reference));
        };
        let checked = found.map_err(|missing| withheld(user, reference, &missing))?;
        let said = exec_credential(&checked.credential, hold(&checked, document, now).until);
        let credential = said.ok_or_else(|| Error::KeepsKey { user: user.clone() })?;
        Ok((reference.cluster.clone(), credential))
    }

    /// What a user has in a logical cloud that is applied: for one of its clusters, or for all. Each certificate is
    /// checked before it is handed out. A cloud with one user needs none named. For all clusters, those without a
    /// credential yet, and those of which it is not known where they are, are named in [`UserAccess::missing`]. Nothing is kept in the
    /// audit log; see [`hand_out`](Self::hand_out).
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; [`Error::UserNotNamed`]; when there is nothing to hand out
    /// [`Error::NotIssued`], [`Error::Certificate`], and for a registration that does not say where the cluster is
    /// [`Error::NotFound`], [`Error::Kubeconfig`], [`Error::Moved`], [`Error::Unreadable`] and [`Error::UnknownSchema`]; errors of the store and
    /// the synchronizer.
    pub async fn kubeconfigs(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
        reference: Option<&ReferenceName>,
    ) -> Result<UserAccess, Error> {
        let (loaded, applied) = self.applied(project, cloud).await?;
        let user = &choose_user(&loaded.cloud, &applied.cloud, user)?.metadata.name;
        let references = choose_references(&loaded.cloud, &applied.cloud, reference)?;
        let namespace = applied.snapshot.namespace.clone().ok_or_else(|| not_applied(cloud))?;
        let access = Access {
            project: project.clone(),
            logical_cloud: cloud.clone(),
            user: user.clone(),
            namespace,
            clusters: BTreeMap::new(),
        };
        self.fill(access, &loaded.place, &applied, references).await
    }

    /// The certificates of one user in a logical cloud that is applied, as PEM: that of one of its clusters, or of all that issued a
    /// good one. It is read from what clusters issued alone, so neither what is registered of them nor what hinders them is.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; errors of the store and the synchronizer.
    pub async fn certificates(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: Option<&ReferenceName>,
    ) -> Result<BTreeMap<ReferenceName, String>, Error> {
        let (loaded, applied) = self.applied(project, cloud).await?;
        let user = &choose_user(&loaded.cloud, &applied.cloud, Some(user))?.metadata.name;
        let references = choose_references(&loaded.cloud, &applied.cloud, reference)?;
        let (place, snapshot) = (&loaded.place, &applied.snapshot);
        let document = self.credential(place, user).await?;
        let results = &self.needed_results(place, snapshot, document.as_ref(), &references).await?;
        let credentials = Credentials { place, snapshot, results, status: None, now: self.clock.now() };
        let certificate = |reference: &ClusterReference| match credentials
            .of(user, document.as_ref(), &reference.cluster)
            .ok()?
            .credential
        {
            Credential::Certificate { certificate, .. } => {
                Some((reference.metadata.name.clone(), certificate))
            }
            Credential::Token(_) | Credential::Plugin(_) => None,
        };
        Ok(references.into_iter().filter_map(certificate).collect())
    }

    /// A logical cloud, with what was applied of it.
    async fn applied(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<(Loaded, Frozen), Error> {
        let store = &*self.documents;
        let (loaded, applied) = load::load_with(store, project, cloud, Root::applied_snapshot).await?;
        Ok((loaded, applied.ok_or_else(|| not_applied(cloud))?))
    }

    /// Adds what the user has in each of these clusters.
    async fn fill(
        &self,
        access: Access,
        place: &Place,
        Frozen { snapshot, cloud }: &Frozen,
        references: Vec<&ClusterReference>,
    ) -> Result<UserAccess, Error> {
        let document = self.credential(place, &access.user).await?;
        let (document, now) = (document.as_ref(), self.clock.now());
        let found = self.issued(place, snapshot, (&access.user, document), &references, now).await?;
        let issued = references.iter().zip(&found).filter(|(_, found)| found.is_ok());
        let clusters = issued.map(|(reference, _)| &reference.cluster).collect();
        let registered = self.registrations(&clusters).await?;
        let mut access = UserAccess {
            access,
            holds: BTreeMap::new(),
            clusters: BTreeSet::new(),
            missing: BTreeMap::new(),
        };
        let mut unlocated = BTreeMap::new();
        for (reference, found) in references.into_iter().zip(found) {
            let (name, cluster) = (reference.metadata.name.clone(), &reference.cluster);
            match found.map(|checked| (checked, locate(cluster, registered.get(cluster)))) {
                Ok((checked, Ok(cluster))) => {
                    access.clusters.insert(reference.cluster.clone());
                    access.holds.insert(name.clone(), hold(&checked, document, now));
                    let credential = checked.credential;
                    access.access.clusters.insert(name, ClusterAccess { cluster, credential });
                }
                Ok((_, Err(error))) => {
                    // Members read this: what is wrong with a kubeconfig is for those who registered it.
                    let reason = error.to_string();
                    access.missing.insert(name.clone(), Missing::Unlocated { reason });
                    unlocated.insert(name, error);
                }
                Err(reason) => drop(access.missing.insert(name, reason)),
            }
        }
        something(access, unlocated, cloud)
    }

    /// What each of these clusters issued for a user, or why not.
    async fn issued(
        &self,
        place: &Place,
        snapshot: &Snapshot,
        (user, document): (&UserName, Option<&CredentialDocument>),
        references: &[&ClusterReference],
        now: Timestamp,
    ) -> Result<Vec<Result<Checked, Missing>>, Error> {
        let results = &self.needed_results(place, snapshot, document, references).await?;
        let mut credentials = Credentials { place, snapshot, results, status: None, now };
        let of = |credentials: &Credentials<'_>, reference: &ClusterReference| {
            credentials.of(user, document, &reference.cluster)
        };
        let mut found: Vec<_> = references.iter().map(|reference| of(&credentials, reference)).collect();
        // Only the reason of what is missing is in the status, which holds all clusters.
        let is_missing = |found: &Result<_, _>| matches!(found, Err(Missing::NotIssued { .. }));
        let status = match found.iter().any(is_missing) {
            true => self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?,
            false => None,
        };
        credentials.status = status.as_ref();
        for (found, reference) in found.iter_mut().zip(references).filter(|(found, _)| is_missing(found)) {
            *found = of(&credentials, reference);
        }
        Ok(found)
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
}

fn not_applied(cloud: &LogicalCloudName) -> Error {
    Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() }
}

/// Where users reach a cluster, by what is registered of it: none while its endpoint is not accepted.
pub(super) fn locate(cluster: &ClusterId, registered: Option<&Entry>) -> Result<Admin, Error> {
    let entry = registered.ok_or_else(|| Error::not_found(Kind::Cluster, cluster))?;
    let document: ClusterDocument = read(entry)?;
    // A user would send the credential there.
    let is_moved = document.is_moved();
    let registration = clusters::of_document(document).registration;
    let admin = registration.for_users();
    let admin = admin.map_err(|source| Error::Kubeconfig { cluster: cluster.clone(), source })?;
    if is_moved { Err(Error::Moved { cluster: cluster.clone() }) } else { Ok(admin) }
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

/// Refuses an access with nothing in it but reasons. `unlocated` has the errors of those of which only that is missing.
fn something(
    access: UserAccess,
    mut unlocated: BTreeMap<ReferenceName, Error>,
    cloud: &LogicalCloud,
) -> Result<UserAccess, Error> {
    let Some((reference, missing)) = access.missing.first_key_value() else { return Ok(access) };
    if !access.access.clusters.is_empty() {
        return Ok(access);
    }
    if let Some(error) = unlocated.remove(reference) {
        return Err(error);
    }
    let found = cloud.references().iter().find(|one| one.metadata.name == *reference);
    let found = found.ok_or_else(|| Error::not_found(Kind::Reference, reference))?;
    Err(withheld(&access.access.user, found, missing))
}

/// Why nothing is handed out to a user for a cluster.
fn withheld(user: &UserName, reference: &ClusterReference, missing: &Missing) -> Error {
    let user = user.clone();
    match missing {
        Missing::Refused(source) => {
            Error::Certificate { user, cluster: reference.cluster.clone(), source: Box::new(source.clone()) }
        }
        missing => {
            let reference = reference.metadata.name.clone();
            Error::NotIssued { user, reference, missing: Box::new(missing.clone()) }
        }
    }
}

/// For how long a credential is to be used.
fn hold(checked: &Checked, document: Option<&CredentialDocument>, now: Timestamp) -> Hold {
    let delay = document.map(|document| document.renewal_delay).unwrap_or_default();
    Hold::of(checked, delay, now)
}
