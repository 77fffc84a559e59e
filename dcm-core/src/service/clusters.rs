//! Registered clusters: where logical clouds can be.

mod moved;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::audit::Told;
use crate::hash::ContentHash;
use crate::kubeconfig::{Admin, Invalid, UserEndpoint};
use crate::logical_cloud::{KeyValues, LogicalCloud, Notes, check_labels};
use crate::name::{ClusterId, ClusterName, ClusterProviderName, LogicalCloudName, Namespace, ProjectName};
use crate::port::audit::{About, Action, AuditLog};
use crate::port::clock::Clock;
use crate::port::cluster::ClusterUid;
use crate::port::schema::Broken;
use crate::port::store::{Document, PageRequest, Prefix, Store, StoreExt, Version, Write};
use crate::port::synchronizer::{Error as Failure, Synchronizer, Tombstone};
use crate::refusal::{Checks, Path, Refusals};
use crate::secret::Secret;
use crate::status::LaneState;

use super::audited::{Audit, kept_in};
use super::caller::{Caller, Change};
use super::cluster_parts;
use super::documents::{ClusterDocument, Root, SCHEMA, endpoint, read};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES, Frozen, Loaded};
use super::owners::{self, OfClusters, Providers};
use super::path::{self, Place};
use super::precondition::{Precondition, Revision};
use super::put::EditOutcome;

/// The detail in the audit log of a change of where users reach a cluster.
const USER_ENDPOINT: &str = "user endpoint";

/// So many logical clouds are looked at together: whole, so fewer than documents that are read one by one.
const CLOUDS_AT_ONCE: usize = 4;

/// What a kubeconfig must be beyond being readable, such as free of programs to run. Whoever wires the services
/// decides.
pub type KubeconfigCheck = Arc<dyn Fn(&Secret) -> Result<(), Refusals> + Send + Sync>;

/// The use cases of registered clusters. Cheap to clone.
#[derive(Clone)]
pub struct RegisteredClusters {
    documents: Arc<dyn Store>,
    synchronizer: Arc<dyn Synchronizer>,
    clock: Arc<dyn Clock>,
    check: KubeconfigCheck,
    audit: Audit,
}

/// A cluster to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Which cluster.
    pub id: ClusterId,
    /// The administrator's kubeconfig.
    pub kubeconfig: Secret,
    /// Where users reach the cluster, who get this in their kubeconfigs. Default: where the administrator's kubeconfig leads to.
    pub user_endpoint: Option<UserEndpoint>,
    /// Labels that cluster selectors look at; they follow Kubernetes' rules.
    pub labels: BTreeMap<String, String>,
    /// The namespace that admin clouds use. Default: `default`.
    pub namespace: Option<Namespace>,
    /// What people wrote about it.
    pub notes: Notes,
    /// Further notes, for programs, in the order of their names.
    pub key_values: Vec<KeyValues>,
}

impl Registration {
    /// A cluster with the administrator's kubeconfig, and else nothing.
    #[must_use]
    pub fn new(id: ClusterId, kubeconfig: Secret) -> Self {
        Self {
            id,
            kubeconfig,
            user_endpoint: None,
            labels: BTreeMap::new(),
            namespace: None,
            notes: Notes::default(),
            key_values: Vec::new(),
        }
    }

    /// The cluster as its users reach it.
    ///
    /// # Errors
    /// [`Invalid`] for a kubeconfig that can't be read.
    pub fn for_users(&self) -> Result<Admin, Invalid> {
        let admin = Admin::read(&self.kubeconfig)?;
        Ok(match self.user_endpoint.clone() {
            Some(endpoint) => admin.for_users(endpoint),
            None => admin,
        })
    }

    /// Warnings of what is perhaps not meant: users are sent where other machines than the administrator's hardly get, such as to a loopback
    /// address; something of the kubeconfig is not used. A kubeconfig that can't be read gets none.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let for_users = self.for_users().ok().and_then(|admin| admin.warning_for_users());
        for_users.into_iter().chain(Admin::warnings(&self.kubeconfig)).collect()
    }

    /// Checks all that the same rules hold for wherever it is registered. An installation may have further ones for kubeconfigs.
    ///
    /// # Errors
    /// [`Refusals`], of which none shows the kubeconfig's content.
    pub fn check(&self) -> Result<(), Refusals> {
        let mut checks = self.rules();
        if let Err(invalid) = Admin::read(&self.kubeconfig) {
            checks.refuse(&Path::root().field("kubeconfig"), "", invalid.to_string());
        }
        checks.finish(Some(()))
    }

    /// What breaks a rule beside the kubeconfig.
    fn rules(&self) -> Checks {
        let mut checks = Checks::default();
        if let Some(endpoint) = &self.user_endpoint {
            endpoint.check(&Path::root().field("userEndpoint"), &mut checks);
        }
        check_labels(&self.labels, &Path::root().field("labels"), &mut checks);
        self.notes.check(&Path::root(), &mut checks);
        cluster_parts::check_key_values(&self.key_values, &mut checks);
        checks
    }
}

/// What to do when something is left on a cluster that is to be removed: of clouds that were taken off while it could
/// not be reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Remains {
    /// Keep the cluster, so that it is cleared when it returns.
    #[default]
    Refuse,
    /// Leave it there, and forget it: the cluster does not return.
    LeaveBehind,
}

/// A registered cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredCluster {
    /// What was registered.
    pub registration: Registration,
    /// Who registered it.
    pub created: Change,
    /// Who changed it last.
    pub changed: Change,
    /// Names this state of it.
    pub revision: Revision,
    /// The kubeconfig leads to another endpoint ([`Admin::endpoint`]) than the accepted one: until it is accepted, no connection is made with
    /// it.
    pub is_moved: bool,
}

/// Some registered clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPage {
    /// The clusters, in the order of their providers and names.
    pub clusters: Vec<RegisteredCluster>,
    /// Those that can't be read.
    pub broken: Vec<Broken>,
    /// Where to go on; none when this was the last page.
    pub next: Option<ClusterId>,
}

impl RegisteredClusters {
    /// Clusters in a store of documents: the one of the logical clouds, with their synchronizer. The store holds
    /// secrets.
    #[must_use]
    pub fn new(
        documents: Arc<dyn Store>,
        synchronizer: Arc<dyn Synchronizer>,
        clock: Arc<dyn Clock>,
        check: KubeconfigCheck,
    ) -> Self {
        Self { documents, synchronizer, clock, check, audit: None }
    }

    /// The same services, whose decisions are kept.
    #[must_use]
    pub fn audited_by(self, log: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(log), ..self }
    }

    /// The same services with another check of kubeconfigs, such as for callers who may less than whoever runs the program.
    #[must_use]
    pub fn checked_by(self, check: KubeconfigCheck) -> Self {
        Self { check, ..self }
    }

    pub(super) async fn audited<T: Told>(
        &self,
        caller: &Caller,
        action: (Action, &str),
        cluster: &ClusterId,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let (action, detail) = (action.0, action.1.to_owned());
        let about = About { cluster: Some(cluster.clone()), detail, ..About::default() };
        kept_in(&self.audit, &*self.clock, caller, (action, about), call).await
    }

    /// Registers a cluster, and gives it as it is then. Registering the same again changes nothing. Its provider is made where there is
    /// none of that name.
    ///
    /// # Errors
    /// [`Error::AlreadyThere`] when it is registered otherwise; [`Error::Refused`]; [`Error::Store`].
    pub async fn add(
        &self,
        caller: &Caller,
        registration: Registration,
    ) -> Result<(RegisteredCluster, EditOutcome), Error> {
        self.add_seen(caller, registration, None).await
    }

    /// The same of a cluster that was looked at: its UID is held for this name.
    ///
    /// # Errors
    /// Those of [`RegisteredClusters::add`]; [`Error::Synchronizer`] with
    /// [`SameCluster`](Failure::SameCluster) where it is registered under another name.
    pub async fn add_seen(
        &self,
        caller: &Caller,
        registration: Registration,
        uid: Option<&ClusterUid>,
    ) -> Result<(RegisteredCluster, EditOutcome), Error> {
        let id = registration.id.clone();
        let adding = self.add_tries(caller, registration, uid);
        self.audited(caller, (Action::RegisterCluster, ""), &id, adding).await
    }

    async fn add_tries(
        &self,
        caller: &Caller,
        registration: Registration,
        uid: Option<&ClusterUid>,
    ) -> Result<(RegisteredCluster, EditOutcome), Error> {
        self.check(&registration)?;
        let id = registration.id.clone();
        for _ in 0..CONTENTION_TRIES {
            if let Some((stored, _)) = self.stored(&id).await? {
                let stored = of_document(stored);
                if stored.registration != registration {
                    return Err(Error::AlreadyThere { kind: Kind::Cluster, name: id.to_string() });
                }
                self.hold(&id, uid).await?;
                // It may be what a call left that was cut off.
                self.ensure_provider(caller, &id.provider).await?;
                return Ok((stored, EditOutcome::Unchanged));
            }
            self.hold(&id, uid).await?;
            self.ensure_provider(caller, &id.provider).await?;
            let change = caller.change(self.clock.now());
            let accepted = endpoint(&registration.kubeconfig);
            let document = document(registration.clone(), accepted, change.clone(), change);
            match self.write(None, &document).await {
                Ok(()) => {
                    // Somebody may have deleted the empty provider meanwhile: one of the two sees the other.
                    self.ensure_provider(caller, &id.provider).await?;
                    return Ok((of_document(document), EditOutcome::Created));
                }
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(Kind::Cluster, id))
    }

    /// Holds the identity of a cluster that was looked at. What is held for a name that is not registered is left of a call
    /// that was cut off.
    async fn hold(&self, id: &ClusterId, uid: Option<&ClusterUid>) -> Result<(), Error> {
        let Some(uid) = uid else { return Ok(()) };
        for _ in 0..CONTENTION_TRIES {
            match self.synchronizer.hold_identity(id, uid).await {
                Err(Failure::SameCluster { first, .. }) if self.stored(&first).await?.is_none() => {
                    self.synchronizer.release_identity(&first).await.map_err(Error::Synchronizer)?;
                }
                held => return held.map_err(Error::Synchronizer),
            }
        }
        Err(Error::contended(Kind::Cluster, id))
    }

    /// Makes the provider where there is none, or it is about to go.
    async fn ensure_provider(&self, caller: &Caller, provider: &ClusterProviderName) -> Result<(), Error> {
        match owners::must_exist::<OfClusters>(&*self.documents, provider).await {
            Err(Error::NotFound { .. }) => {
                let providers = Providers::new(self.documents.clone(), self.clock.clone());
                providers.keep(caller, provider).await
            }
            is_there => is_there,
        }
    }

    /// One cluster.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Store`].
    pub async fn get(&self, id: &ClusterId) -> Result<RegisteredCluster, Error> {
        let stored = self.stored(id).await?;
        stored.map(|(document, _)| of_document(document)).ok_or_else(|| Error::not_found(Kind::Cluster, id))
    }

    /// Some clusters, after this one: at most `limit`, or as many as the store gives at once.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, after: Option<&ClusterId>, limit: Option<usize>) -> Result<ClusterPage, Error> {
        self.list_below(&path::clusters(), after, limit).await
    }

    /// Some clusters of one provider, after the one of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the provider; [`Error::Store`].
    pub async fn list_of(
        &self,
        provider: &ClusterProviderName,
        after: Option<&ClusterName>,
        limit: Option<usize>,
    ) -> Result<ClusterPage, Error> {
        owners::must_exist::<OfClusters>(&*self.documents, provider).await?;
        let after = after.map(|cluster| ClusterId { provider: provider.clone(), cluster: cluster.clone() });
        self.list_below(&path::clusters_of(provider), after.as_ref(), limit).await
    }

    async fn list_below(
        &self,
        prefix: &Prefix,
        after: Option<&ClusterId>,
        limit: Option<usize>,
    ) -> Result<ClusterPage, Error> {
        let request = PageRequest { after: after.map(path::cluster), limit };
        let page = self.documents.list(prefix, &request).await?;
        let (mut clusters, mut broken) = (Vec::with_capacity(page.entries.len()), Vec::new());
        for entry in &page.entries {
            match read(entry) {
                Ok(document) => clusters.push(of_document(document)),
                Err(error) => broken.push(Broken::new(&entry.path, &error)),
            }
        }
        Ok(ClusterPage { clusters, broken, next: page.next.as_ref().and_then(path::of_cluster) })
    }

    /// Changes what is registered of a cluster, under a condition, and gives it as it is then; which cluster it is stays. Where the synchronizer
    /// knows the cluster, a kubeconfig with another endpoint is stored and not used until it is accepted
    /// ([`RegisteredCluster::is_moved`]).
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::PreconditionFailed`]; [`Error::Refused`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn edit(
        &self,
        caller: &Caller,
        id: &ClusterId,
        condition: &Precondition<Revision>,
        next: impl Fn(Registration) -> Registration + Send + Sync,
    ) -> Result<(RegisteredCluster, EditOutcome), Error> {
        self.edit_seen(caller, id, condition, None, next).await
    }

    /// The same with the UID that was found at the cluster of the new kubeconfig: the UID is held for this name.
    ///
    /// # Errors
    /// Those of [`RegisteredClusters::edit`]; [`Error::Synchronizer`] with
    /// [`SameCluster`](Failure::SameCluster) where it is registered under another name.
    pub async fn edit_seen(
        &self,
        caller: &Caller,
        id: &ClusterId,
        condition: &Precondition<Revision>,
        uid: Option<&ClusterUid>,
        next: impl Fn(Registration) -> Registration + Send + Sync,
    ) -> Result<(RegisteredCluster, EditOutcome), Error> {
        let next = |old: Registration| Ok(Registration { id: id.clone(), ..next(old) });
        let stored = self.stored(id).await.ok().flatten().map(|(stored, _)| of_document(stored).registration);
        // Users' credentials go elsewhere from then on.
        let is_of_users = stored.is_some_and(|old| changes_endpoint(old, next));
        let detail = if is_of_users { USER_ENDPOINT } else { "" };
        let editing = async {
            self.hold(id, uid).await?;
            self.change_if(caller, id, condition, next).await
        };
        self.audited(caller, (Action::UpdateCluster, detail), id, editing).await
    }

    pub(super) async fn change(
        &self,
        caller: &Caller,
        id: &ClusterId,
        change: impl Fn(Registration) -> Result<Registration, Error> + Send + Sync,
    ) -> Result<EditOutcome, Error> {
        self.change_if(caller, id, &Precondition::default(), change).await.map(|(_, outcome)| outcome)
    }

    async fn change_if(
        &self,
        caller: &Caller,
        id: &ClusterId,
        condition: &Precondition<Revision>,
        change: impl Fn(Registration) -> Result<Registration, Error> + Send + Sync,
    ) -> Result<(RegisteredCluster, EditOutcome), Error> {
        for _ in 0..CONTENTION_TRIES {
            let stored = self.stored(id).await?;
            let revision = stored.as_ref().map(|(document, _)| document.revision());
            condition.check(Kind::Cluster, id, revision.as_ref())?;
            let (stored, version) = stored.ok_or_else(|| Error::not_found(Kind::Cluster, id))?;
            let old = of_document(stored.clone());
            let registration = change(old.registration.clone())?;
            if registration == old.registration {
                return Ok((old, EditOutcome::Unchanged));
            }
            self.check_change(&registration, Some(&old.registration))?;
            let accepted = self.accepted_with(&stored, &registration.kubeconfig).await?;
            let document = document(registration, accepted, old.created, caller.change(self.clock.now()));
            match self.write(Some(version), &document).await {
                Ok(()) => return Ok((of_document(document), EditOutcome::Changed)),
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(Kind::Cluster, id))
    }

    /// Pauses all work on a cluster, and waits until no request to it is under way: then none begins before it is
    /// resumed, not even one that only reads.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the store and the synchronizer, among them the one that after `limit` requests may
    /// still be under way: then the work is paused all the same.
    pub async fn stop(&self, caller: &Caller, id: &ClusterId, limit: Duration) -> Result<(), Error> {
        let stopping = async {
            self.get(id).await?;
            self.synchronizer.stop_cluster(id, limit).await.map_err(Error::Synchronizer)
        };
        self.audited(caller, (Action::StopCluster, ""), id, stopping).await
    }

    /// Goes on with the work on a cluster.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the store and the synchronizer.
    pub async fn resume(&self, caller: &Caller, id: &ClusterId) -> Result<(), Error> {
        let resuming = async {
            self.get(id).await?;
            self.synchronizer.resume_cluster(id).await.map_err(Error::Synchronizer)
        };
        self.audited(caller, (Action::ResumeCluster, ""), id, resuming).await
    }

    /// Whether the work on a cluster is paused.
    ///
    /// # Errors
    /// Errors of the synchronizer.
    pub async fn is_stopped(&self, id: &ClusterId) -> Result<bool, Error> {
        self.synchronizer.is_stopped(id).await.map_err(Error::Synchronizer)
    }

    /// The clusters on which the work is paused.
    ///
    /// # Errors
    /// Errors of the synchronizer.
    pub async fn stopped(&self) -> Result<BTreeSet<ClusterId>, Error> {
        self.synchronizer.stopped_clusters().await.map_err(Error::Synchronizer)
    }

    /// Removes a cluster that no logical cloud refers to, in its documents or in what is applied, and that none is still
    /// being taken off: without the kubeconfig, what is left there could never be cleared away. It looks through all
    /// logical clouds. A cloud that comes to refer to it in the same moment is told at its next apply.
    ///
    /// Gives what is left behind there of clouds that were taken off without it, when that is allowed.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::ClusterInUse`]; [`Error::LeftOnCluster`]; [`Error::Contended`]; errors of the store
    /// and the synchronizer.
    pub async fn remove(
        &self,
        caller: &Caller,
        id: &ClusterId,
        remains: Remains,
    ) -> Result<Vec<Tombstone>, Error> {
        let detail = match remains {
            Remains::Refuse => "",
            Remains::LeaveBehind => "leave behind what is left there",
        };
        self.audited(caller, (Action::RemoveCluster, detail), id, self.remove_once(id, remains)).await
    }

    async fn remove_once(&self, id: &ClusterId, remains: Remains) -> Result<Vec<Tombstone>, Error> {
        let (_, version) = self.stored(id).await?.ok_or_else(|| Error::not_found(Kind::Cluster, id))?;
        let clouds = self.users_of(id).await?;
        if !clouds.is_empty() {
            return Err(Error::ClusterInUse { cluster: id.clone(), clouds });
        }
        let left = self.synchronizer.tombstones(id).await.map_err(Error::Synchronizer)?;
        if !left.is_empty() {
            if remains == Remains::Refuse {
                return Err(Error::LeftOnCluster { cluster: id.clone(), left });
            }
            // First: a cluster that is known no more could not be named to drop them.
            self.synchronizer.drop_tombstones(id).await.map_err(Error::Synchronizer)?;
        }
        match self.documents.write_one(Write::Delete { path: path::cluster(id), version }).await {
            Ok(_) => {
                // Last: if this fails, the next registration of the cluster finds that this name is gone, and releases the UID.
                self.synchronizer.release_identity(id).await.map_err(Error::Synchronizer)?;
                Ok(left)
            }
            Err(crate::port::store::Error::Conflict { .. }) => Err(Error::contended(Kind::Cluster, id)),
            Err(error) => Err(error.into()),
        }
    }

    /// The logical clouds that refer to a cluster or have something left on it, as `project/cloud`.
    async fn users_of(&self, id: &ClusterId) -> Result<Vec<String>, Error> {
        let roots = self.documents.list_all(&path::all_roots()).await?;
        let clouds = roots.iter().filter_map(|entry| path::of_root(&entry.path));
        let looks: Vec<_> = clouds.map(|(project, cloud)| self.user_of(id, project, cloud)).collect();
        let users = stream::iter(looks).buffered(CLOUDS_AT_ONCE);
        users.try_filter_map(future::ok).try_collect().await
    }

    /// The name of a logical cloud that refers to a cluster or has something left on it; none for another one.
    async fn user_of(
        &self,
        id: &ClusterId,
        project: ProjectName,
        cloud: LogicalCloudName,
    ) -> Result<Option<String>, Error> {
        let (loaded, newest) = match load::load_with(&*self.documents, &project, &cloud, Root::newest).await {
            Ok(found) => found,
            // Being made or deleted.
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let uses = refers(&loaded, newest.as_ref(), id)? || self.is_on(&loaded.place, id).await?;
        Ok(uses.then(|| format!("{project}/{cloud}")))
    }

    /// True when a cloud's app context has something on a cluster, wanted or not, that is not given up.
    async fn is_on(&self, place: &Place, id: &ClusterId) -> Result<bool, Error> {
        let lane = self.synchronizer.lane(&place.context_id(), id).await.map_err(Error::Synchronizer)?;
        Ok(lane.is_some_and(|lane| !matches!(lane.state, LaneState::Removed | LaneState::Abandoned)))
    }

    /// Checks what is to be registered, without asking anybody.
    ///
    /// # Errors
    /// [`Refusals`], of which none shows the kubeconfig's content.
    pub fn check(&self, registration: &Registration) -> Result<(), Refusals> {
        self.check_change(registration, None)
    }

    /// Checks what is to be registered in the place of something else. A kubeconfig that stays was checked by whoever
    /// registered it.
    ///
    /// # Errors
    /// Those of [`RegisteredClusters::check`].
    pub fn check_change(
        &self,
        registration: &Registration,
        old: Option<&Registration>,
    ) -> Result<(), Refusals> {
        if old.is_some_and(|old| old.kubeconfig == registration.kubeconfig) {
            return registration.rules().finish(Some(()));
        }
        let refusals = registration.check().err().into_iter().flatten();
        // Whoever else checks one that can't be read would refuse the same in other words.
        let is_read = Admin::read(&registration.kubeconfig).is_ok();
        let kubeconfig = is_read.then(|| (self.check)(&registration.kubeconfig).err()).flatten();
        Refusals::of(refusals.chain(kubeconfig.into_iter().flatten()).collect()).map_or(Ok(()), Err)
    }

    async fn stored(&self, id: &ClusterId) -> Result<Option<(ClusterDocument, Version)>, Error> {
        match self.documents.get(&path::cluster(id)).await? {
            Some(entry) => Ok(Some((read(&entry)?, entry.version))),
            None => Ok(None),
        }
    }

    async fn write(&self, version: Option<Version>, document: &ClusterDocument) -> Result<(), Error> {
        let path = path::cluster(&document.id);
        let document = Document::from_value(document)?;
        let write = match version {
            Some(version) => Write::Update { path, version, document },
            None => Write::Create { path, document },
        };
        self.documents.write_one(write).await?;
        Ok(())
    }
}

/// True for a change of where users reach a cluster.
fn changes_endpoint(old: Registration, next: impl Fn(Registration) -> Result<Registration, Error>) -> bool {
    let before = old.user_endpoint.clone();
    next(old).is_ok_and(|new| new.user_endpoint != before)
}

fn document(
    registration: Registration,
    accepted: ContentHash,
    created: Change,
    changed: Change,
) -> ClusterDocument {
    let Registration { id, kubeconfig, user_endpoint, labels, namespace, notes, key_values } = registration;
    ClusterDocument {
        schema: SCHEMA,
        id,
        kubeconfig,
        accepted_endpoint: Some(accepted),
        user_endpoint,
        labels,
        namespace,
        notes,
        key_values,
        created,
        changed,
    }
}

pub(super) fn of_document(document: ClusterDocument) -> RegisteredCluster {
    let (revision, is_moved) = (document.revision(), document.is_moved());
    let ClusterDocument { created, changed, .. } = document;
    let ClusterDocument { id, kubeconfig, user_endpoint, labels, namespace, notes, key_values, .. } =
        document;
    let registration = Registration { id, kubeconfig, user_endpoint, labels, namespace, notes, key_values };
    RegisteredCluster { registration, created, changed, revision, is_moved }
}

/// True when a cloud refers to a cluster, or is or may be applied to it.
fn refers(loaded: &Loaded, newest: Option<&Frozen>, id: &ClusterId) -> Result<bool, Error> {
    let has = |cloud: &LogicalCloud| cloud.references().iter().any(|reference| reference.cluster == *id);
    if newest.is_some_and(|newest| has(&newest.cloud)) {
        return Ok(true);
    }
    for contents in loaded.root.wanted_contents() {
        if has(&loaded.parts.cloud(contents)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
