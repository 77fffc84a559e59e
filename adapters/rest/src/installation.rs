//! What is asked of an installation beside its services: clusters themselves, and what goes through no service.

use std::collections::BTreeMap;

use async_trait::async_trait;
use dcm_core::causes::{self, Reader};
use dcm_core::kubeconfig::Admin;
use dcm_core::logical_cloud::Draft;
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};
use dcm_core::plan::PlanHash;
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::port::synchronizer::Disposal;
use dcm_core::preflight::{InspectError, Inspection, Needs, Other};
use dcm_core::service::{
    self, Applied, Caller, EditId, Edited, Lapsed, OrphanError, Orphans, OtherBindings, OtherBindingsReport,
    Precondition, Registration,
};
use dcm_sync::planning::{Planned, Rehearsing};

/// An installation. Whoever wires the services knows how clusters are reached.
#[async_trait]
pub trait Installation: Send + Sync + 'static {
    /// Looks at a cluster by what is to be registered of it: whether it grants what is needed, and whether it is the one that is known
    /// by this name.
    ///
    /// # Errors
    /// [`InspectError`].
    async fn inspect(&self, registration: &Registration, needs: &Needs) -> Result<Inspection, InspectError>;

    /// Which cluster is found by what is registered, and what it is found in the place of; none where that is the same, or nothing is known.
    ///
    /// # Errors
    /// [`InspectError`].
    async fn identify(
        &self,
        registration: &Registration,
    ) -> Result<(ClusterUid, Option<Other>), InspectError>;

    /// Takes the cluster that was found as the one that a name stands for, and the endpoint at which it was found as the one to reach it at.
    ///
    /// # Errors
    /// Those of [`RegisteredClusters::accept_endpoint`](service::RegisteredClusters::accept_endpoint), and of the store.
    async fn accept(
        &self,
        caller: &Caller,
        registration: &Registration,
        uid: &ClusterUid,
    ) -> Result<(), service::Error>;

    /// Looks for [bindings of other clients](Lapsed::other_bindings) on all clusters of a logical cloud. Of a cluster that does not
    /// answer, it is unknown whether it has any.
    async fn other_bindings(&self, lapsed: &Lapsed) -> BTreeMap<ClusterId, Result<OtherBindings, Error>>;

    /// Removes the identities of a logical cloud that have no right of ours any more, or those of one user, from the bindings of other
    /// clients. The report is for a reader.
    ///
    /// # Errors
    /// Those of [`LogicalClouds::lapsed`](service::LogicalClouds::lapsed), and of the audit log.
    async fn remove_other_bindings(
        &self,
        caller: &Caller,
        named: (&ProjectName, &LogicalCloudName),
        user: Option<&UserName>,
        reader: Reader,
    ) -> Result<OtherBindingsReport, service::Error>;

    /// The orphans on a cluster. A kind that the cluster lacks has none.
    ///
    /// # Errors
    /// [`OrphanError`].
    async fn orphans(&self, cluster: &ClusterId) -> Result<Orphans, OrphanError>;

    /// Plans what an apply of a draft would do. Writes nothing, neither to the store nor to a cluster.
    ///
    /// # Errors
    /// Those of the services.
    async fn plan_draft(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: &Draft,
        rehearsing: Rehearsing,
    ) -> Result<PlannedDraft, service::Error>;

    /// Makes a logical cloud what a draft says, under a condition, and brings just that to its clusters: in place of what is under way,
    /// and as it was agreed. What can't be applied, or is not as it was agreed, is not stored either.
    ///
    /// # Errors
    /// [`DeclareError`].
    async fn declare(
        &self,
        caller: &Caller,
        named: (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        condition: &Precondition<EditId>,
        agreed: Agreed,
    ) -> Result<Declared, DeclareError>;

    /// Brings what is stored of a logical cloud to its clusters, as it was agreed, while nothing is under way: any edit of it, or one of
    /// those that are known.
    ///
    /// # Errors
    /// [`DeclareError`].
    async fn apply(
        &self,
        caller: &Caller,
        named: (&ProjectName, &LogicalCloudName),
        known: Option<Vec<EditId>>,
        agreed: Agreed,
    ) -> Result<Applied, DeclareError>;

    /// Removes the orphans of one app context from a cluster, or releases them: then they are nobody's, and a logical cloud whose
    /// document says so can adopt its namespace. Bindings are removed in any case: rights end with a cloud.
    ///
    /// # Errors
    /// [`OrphanError`].
    async fn clear_orphans(
        &self,
        caller: &Caller,
        cluster: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Orphans, OrphanError>;
}

/// What became of a draft that was declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// How it was stored.
    pub edited: Edited,
    /// How it was applied.
    pub applied: Applied,
}

/// What an apply has to keep to.
#[derive(Debug, Clone)]
pub enum Agreed {
    /// Nothing: whatever it does is meant.
    Anything,
    /// What the plan with this hash says.
    Hash(PlanHash),
    /// What was planned in this process: nobody is asked again what it is.
    Planned(Box<PlannedDraft>),
}

impl Agreed {
    /// The hash of a plan, where one was made.
    #[must_use]
    pub fn hash(&self) -> Option<PlanHash> {
        match self {
            Self::Anything => None,
            Self::Hash(hash) => Some(*hash),
            Self::Planned(planned) => Some(planned.planned.hash()),
        }
    }
}

impl From<Option<PlanHash>> for Agreed {
    fn from(hash: Option<PlanHash>) -> Self {
        hash.map_or(Self::Anything, Self::Hash)
    }
}

/// What an apply of a draft would do.
#[derive(Debug, Clone)]
pub struct PlannedDraft {
    /// No such logical cloud is stored: it has no identity yet.
    pub is_new: bool,
    /// What would be done.
    pub planned: Planned,
}

impl PlannedDraft {
    /// The same, if it is what an earlier plan of this hash says.
    ///
    /// # Errors
    /// [`PlanStale`], with what differs.
    pub fn as_planned(self, earlier: &PlanHash) -> Result<Self, PlanStale> {
        match self.planned.changes_since(earlier) {
            Some(changes) => Err(PlanStale { detail: changes.to_string() }),
            None => Ok(self),
        }
    }
}

/// Something else would be done than was planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plan is stale: {detail}")]
pub struct PlanStale {
    /// What differs.
    pub detail: String,
}

/// Why a draft was not declared, or what is stored not applied.
#[derive(Debug, thiserror::Error)]
pub enum DeclareError {
    /// Its apply would do something else than was planned, or of another edit. Where it is stored all the same, the detail says so.
    #[error(transparent)]
    Stale(#[from] PlanStale),
    /// The services refuse it, or have failed. Nothing is stored.
    #[error(transparent)]
    Service(#[from] service::Error),
    /// It is stored, and its apply is refused, or has failed.
    #[error(transparent)]
    NotApplied(service::Error),
}

impl DeclareError {
    /// True when the same draft may be declared later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Stale(_) => false,
            Self::Service(source) | Self::NotApplied(source) => source.is_retryable(),
        }
    }
}

/// In words, why a cluster that is to be registered could not be asked, with the field of its kubeconfig that it comes from.
#[must_use]
pub fn unasked(registration: &Registration, error: &Error) -> String {
    unasked_as(registration, error, &causes::told(error))
}

/// The same for a caller that may name any address as a cluster's: in our words alone. The details go to the log.
pub(crate) fn unasked_by_registrar(registration: &Registration, error: &Error) -> String {
    log_details(&registration.id, error);
    unasked_as(registration, error, &summary(error))
}

/// What happened, in our words, and where the rest is.
pub(crate) fn summary(error: &Error) -> String {
    format!("{}; the server's log has the details", error.summary())
}

/// Logs what a cluster answered, or how the connection to it failed, for the operator of the server.
pub(crate) fn log_details(cluster: &ClusterId, error: &dyn std::error::Error) {
    tracing::warn!(%cluster, error = causes::told(error), "a cluster could not be asked");
}

fn unasked_as(registration: &Registration, error: &Error, why: &str) -> String {
    let Registration { id, kubeconfig, .. } = registration;
    let field = match error {
        Error::Unauthorized { .. } => "users[].user".to_owned(),
        _ => {
            let server =
                Admin::read(kubeconfig).map_or_else(|_| String::new(), |admin| admin.server().to_owned());
            format!("clusters[].cluster.server {server}")
        }
    };
    format!("{field}: {id} can't be asked: {why}")
}
