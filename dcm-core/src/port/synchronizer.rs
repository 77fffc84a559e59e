//! Where desired state is handed over: the linked engine, or another one over the wire.
//!
//! # Contract
//! - Each call returns when what it asks for is stored; a watcher of the context follows the work. `stop` and
//!   `stop_cluster` also wait for the requests that are under way.
//! - `apply` replaces the whole desired state of its context and gives the generation that did. It touches no
//!   cluster itself.
//! - Repeating a call changes nothing: an `apply` of an equal context gives the same generation again.
//! - A namespace of a cluster belongs to one context at a time: a second one that asks for it is refused with
//!   [`Error::NamespaceTaken`], and nothing of it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::app_context::{AppContext, Generation};
use crate::hash::ContentHash;
use crate::manifest::ObjectKey;
use crate::name::{ClusterId, ContextId};
use crate::port::cluster::ClusterUid;
use crate::port::store;
use crate::secret::Secret;
use crate::status::{Cause, ContextStatus, LaneStatus, Progress};

/// What a cluster gave for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Issued {
    /// A signed certificate, PEM as the cluster gave it. Whoever hands it out checks it first.
    Certificate {
        /// The certificate chain, PEM.
        pem: Arc<str>,
        /// When it was received; none for what was stored before that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received: Option<Timestamp>,
        /// The cluster was seen to accept it. False where that could not be tried, as the user keeps the key.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tried: bool,
    },
    /// A token.
    Token {
        /// The token.
        token: Secret,
        /// When it ends.
        expires: Timestamp,
        /// When it was received; none for what was stored before that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received: Option<Timestamp>,
        /// The cluster was seen to accept it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tried: bool,
    },
}

/// The results of an app context: by cluster, then by the request's name.
pub type Results = BTreeMap<ClusterId, BTreeMap<Arc<str>, Issued>>;

/// On which condition a desired state is taken, and brought to each cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// On none: it is wanted whatever the clusters are like.
    #[default]
    Always,
    /// On none, and rights that are taken away are gone soon, also from a cluster that holds a later generation than the store
    /// knows of ([`Reason::StoreBehind`](crate::status::Reason::StoreBehind)): there each binding of ours that is not as
    /// wanted is deleted, and each ServiceAccount that is not wanted; nothing is made or changed.
    Withdraw,
    /// On that of the desired state before it, for each cluster that has not come to its end: for what nobody has looked at
    /// anew, such as newer credentials.
    AsBefore,
    /// It is still what was planned: of the same generation, for the same clusters, whatever the values of Secrets. And no cluster is written to
    /// that is not in the state for which it was planned any more: what differs there stands in the status
    /// ([`Reason::PlanStale`](crate::status::Reason::PlanStale)), until somebody applies or removes it anew.
    AsPlanned(PlannedState),
}

/// What was planned, as far as whoever does it can tell whether it is still so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedState {
    /// As which generation it was planned.
    pub generation: Generation,
    /// What is wanted ([`AppContext::hash_as_planned`]).
    pub wanted: ContentHash,
    /// By cluster, in which state it was ([`Observed::state`](crate::plan::Observed::state)). One that was not observed is
    /// written to in whatever state.
    pub observed: BTreeMap<ClusterId, Arc<str>>,
}

impl PlannedState {
    /// True when this is what was planned.
    #[must_use]
    pub fn is_of(&self, context: &AppContext, generation: Generation) -> bool {
        self.generation == generation && self.wanted == context.hash_as_planned()
    }
}

/// How long a cluster may take to be cleared, where nobody says otherwise: longer than an API server takes to be
/// replaced, or a namespace with much in it to go; half of what the command line waits for, so that it sees the end.
pub const REMOVAL_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// How an app context is removed. What is not said here is as its app context says, or else as by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// Delete namespaces together with what others put in them; otherwise such a namespace is kept and released.
    #[serde(default)]
    pub delete_contents: bool,
    /// In namespaces that we made and that are kept, delete the RoleBindings of other clients, so that none gives a right there any
    /// more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove_others_bindings: bool,
    /// What becomes of the objects. Default: they are deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Disposal>,
    /// What becomes of RoleBindings and ClusterRoleBindings, by which somebody has rights. Default: what becomes of the objects. Who
    /// takes rights away by changing bindings deletes them here: one that is let go binds for good what nobody changes any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bindings: Option<Disposal>,
    /// How long each cluster may take, from when a worker first heard of it. A cluster that takes longer is *abandoned*:
    /// nobody waits for it any more, and it is cleared when it can be. Default: [`REMOVAL_DEADLINE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u32>,
}

/// What becomes of an app context's objects when it leaves a cluster. What is not wanted any more on a cluster on which it
/// stays is always deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disposal {
    /// They are deleted, but for what was adopted.
    #[default]
    Delete,
    /// They are released: our labels, annotations and managed fields come off, and they stay.
    Keep,
}

impl Removal {
    /// This one, and what it leaves open as another one says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            delete_contents: self.delete_contents || other.delete_contents,
            remove_others_bindings: self.remove_others_bindings || other.remove_others_bindings,
            objects: self.objects.or(other.objects),
            bindings: self.bindings.or(other.bindings),
            deadline_seconds: self.deadline_seconds.or(other.deadline_seconds),
        }
    }

    /// What becomes of an object.
    #[must_use]
    pub fn disposal(self, object: &ObjectKey) -> Disposal {
        let bindings = self.bindings.filter(|_| object.is_binding());
        bindings.or(self.objects).unwrap_or_default()
    }

    /// How long each cluster may take.
    #[must_use]
    pub fn deadline(self) -> Duration {
        self.deadline_seconds.map_or(REMOVAL_DEADLINE, |seconds| Duration::from_secs(seconds.into()))
    }
}

/// How long a stop waits for requests that are under way, where nobody says otherwise: longer than the engine gives one
/// request (30 s), or a worker that shows no sign of life (10 s).
pub const STOP_LIMIT: Duration = Duration::from_secs(45);

/// What is left of an app context on a cluster that was abandoned, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tombstone {
    /// Of which app context.
    pub context: ContextId,
    /// On which cluster.
    pub cluster: ClusterId,
    /// Since when it is abandoned.
    pub since: Timestamp,
    /// Why it could not be cleared.
    pub cause: Option<Cause>,
    /// The objects that may be left.
    pub objects: Vec<ObjectKey>,
}

impl Tombstone {
    /// What is said of each object that is left behind.
    pub fn left_behind(&self) -> impl Iterator<Item = String> {
        self.objects.iter().map(|object| format!("left behind: {object} of {}", self.context))
    }
}

/// Why a synchronizer refused or failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// There is no such app context.
    #[error("there is no app context {id}")]
    NotFound {
        /// Which one.
        id: ContextId,
    },
    /// The namespace belongs to another app context.
    #[error("namespace {namespace} of cluster {cluster} belongs to app context {winner}")]
    NamespaceTaken {
        /// The namespace.
        namespace: Arc<str>,
        /// The cluster.
        cluster: ClusterId,
        /// Whom it belongs to.
        winner: ContextId,
    },
    /// The cluster is worked on under another name already.
    #[error("{cluster} is the cluster that is registered as {first}")]
    SameCluster {
        /// The second name.
        cluster: ClusterId,
        /// The name under which it is worked on.
        first: ClusterId,
    },
    /// The app context is not removed yet, so it can't be forgotten.
    #[error("app context {id} is not removed yet")]
    NotRemoved {
        /// Which one.
        id: ContextId,
    },
    /// The desired state breaks a rule.
    #[error("the app context is refused: {reason}")]
    Invalid {
        /// The rule.
        reason: String,
    },
    /// It is not what was planned any more; nothing was changed.
    #[error("app context {id} is not as it was when this was planned")]
    Stale {
        /// Which one.
        id: ContextId,
    },
    /// Somebody else changed the same app context in the same moment; ask again.
    #[error("app context {id} was changed by another client meanwhile")]
    Contended {
        /// Which one.
        id: ContextId,
    },
    /// The work is paused, but it is not known of these workers whether a request of theirs is under way or may begin.
    #[error("paused, but after {} s these workers had not said that nothing is under way: {}", limit.as_secs(), workers.join(", "))]
    StillUnderWay {
        /// How long they were waited for.
        limit: Duration,
        /// Their names.
        workers: Vec<String>,
    },
    /// The work was paused, and somebody else went on with it before nothing was under way.
    #[error("another client resumed the work meanwhile")]
    Resumed,
    /// The engine's store failed.
    #[error("the engine's store failed")]
    Store(#[from] store::Error),
}

impl Error {
    /// True when the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Contended { .. } | Self::StillUnderWay { .. } => true,
            Self::Store(source) => source.is_retryable(),
            Self::NotFound { .. }
            | Self::NamespaceTaken { .. }
            | Self::SameCluster { .. }
            | Self::NotRemoved { .. }
            | Self::Stale { .. }
            | Self::Resumed
            | Self::Invalid { .. } => false,
        }
    }
}

/// Follows one app context: its status now, and again after each change; ends when the context is forgotten.
pub type StatusStream = BoxStream<'static, Result<ContextStatus, Error>>;

/// Takes desired state and brings it about. The contract is in the [module's documentation](self).
#[async_trait]
pub trait Synchronizer: Send + Sync + 'static {
    /// Replaces the desired state of an app context, or makes one, whatever the clusters are like.
    ///
    /// # Errors
    /// [`Error`].
    async fn apply(&self, context: &AppContext) -> Result<Generation, Error> {
        self.apply_on(context, &Condition::Always).await
    }

    /// As [`apply`](Self::apply), on a condition.
    ///
    /// # Errors
    /// [`Error::Stale`] when it is not what was planned, then nothing is changed; [`Error`].
    async fn apply_on(&self, context: &AppContext, condition: &Condition) -> Result<Generation, Error>;

    /// Wants an app context gone from its clusters. Asked again while something is left, it tries again at once, and
    /// gives clusters that were abandoned another deadline.
    ///
    /// # Errors
    /// [`Error`].
    async fn remove(&self, id: &ContextId, removal: Removal) -> Result<Generation, Error>;

    /// Looks at each cluster of an app context again and corrects what differs, as an unchanged apply does. Until then the context is not
    /// done. Does nothing for a context that is paused, removed or unknown.
    ///
    /// # Errors
    /// [`Error`].
    async fn look_again(&self, id: &ContextId) -> Result<(), Error>;

    /// Takes the stored state as the truth where clusters were found to hold later changes, and goes on: the generation
    /// goes beyond all of theirs. Where none was found, the clusters are only looked at again.
    ///
    /// # Errors
    /// [`Error`].
    async fn reconcile(&self, id: &ContextId) -> Result<Generation, Error>;

    /// Pauses the work on an app context, and waits until no request of it is under way. Once this has returned, none
    /// begins before somebody resumes, applies or removes it. What a worker sent that died may still take effect.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::StillUnderWay`] after `limit`: then the work is paused all the same; and
    /// [`Error::Resumed`].
    async fn stop(&self, id: &ContextId, limit: Duration) -> Result<(), Error>;

    /// Goes on with a paused app context.
    ///
    /// # Errors
    /// [`Error`].
    async fn resume(&self, id: &ContextId) -> Result<(), Error>;

    /// The UID of the cluster that a name stands for, as it was found when the cluster was first reached; none before that, and for a
    /// synchronizer that works on no cluster itself.
    ///
    /// # Errors
    /// [`Error`].
    async fn identity(&self, cluster: &ClusterId) -> Result<Option<ClusterUid>, Error>;

    /// Holds a cluster's identity for a name. No other name that leads to the same cluster is worked on then. A synchronizer that works on no cluster itself holds none, as by default.
    ///
    /// # Errors
    /// [`Error::SameCluster`] where it is held for another name; [`Error`].
    async fn hold_identity(&self, _cluster: &ClusterId, _uid: &ClusterUid) -> Result<(), Error> {
        Ok(())
    }

    /// Gives back what is held for a name that is used no more.
    ///
    /// # Errors
    /// [`Error`].
    async fn release_identity(&self, _cluster: &ClusterId) -> Result<(), Error> {
        Ok(())
    }

    /// Pauses all work on a cluster, whichever app context it is for, and waits until no request to it is under way. Once
    /// this has returned, none begins before the cluster is resumed: not even one that only reads. Deadlines of removals
    /// go on.
    ///
    /// # Errors
    /// As of [`Synchronizer::stop`].
    async fn stop_cluster(&self, cluster: &ClusterId, limit: Duration) -> Result<(), Error>;

    /// Goes on with a paused cluster.
    ///
    /// # Errors
    /// [`Error`].
    async fn resume_cluster(&self, cluster: &ClusterId) -> Result<(), Error>;

    /// Whether the work on a cluster is paused.
    ///
    /// # Errors
    /// [`Error`].
    async fn is_stopped(&self, cluster: &ClusterId) -> Result<bool, Error> {
        Ok(self.stopped_clusters().await?.contains(cluster))
    }

    /// The clusters on which the work is paused.
    ///
    /// # Errors
    /// [`Error`].
    async fn stopped_clusters(&self) -> Result<BTreeSet<ClusterId>, Error>;

    /// Drops the records of an app context that is removed. Of clusters that were abandoned they stay, as tombstones,
    /// until those are cleared.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::NotRemoved`]. A context that does not exist is forgotten already.
    async fn forget(&self, id: &ContextId) -> Result<(), Error>;

    /// Removes an app context that nobody asks about any more, and forgets it when it is gone. Until then nobody sees it. A
    /// context that does not exist is forgotten already.
    ///
    /// # Errors
    /// [`Error`].
    async fn discard(&self, id: &ContextId, removal: Removal) -> Result<(), Error>;

    /// What is left of app contexts on a cluster that was abandoned.
    ///
    /// # Errors
    /// [`Error`].
    async fn tombstones(&self, cluster: &ClusterId) -> Result<Vec<Tombstone>, Error>;

    /// Drops the tombstones of a cluster that will not return: what is left there is nobody's from then on.
    ///
    /// # Errors
    /// [`Error`].
    async fn drop_tombstones(&self, cluster: &ClusterId) -> Result<(), Error>;

    /// The status of an app context; none when there is no such context.
    ///
    /// # Errors
    /// [`Error`].
    async fn status(&self, id: &ContextId) -> Result<Option<ContextStatus>, Error>;

    /// What the status says of one cluster; none when it says nothing of it, or there is no such context. Whoever needs one cluster
    /// need not read all.
    ///
    /// # Errors
    /// [`Error`].
    async fn lane(&self, id: &ContextId, cluster: &ClusterId) -> Result<Option<LaneStatus>, Error> {
        Ok(self.status(id).await?.and_then(|mut status| status.lanes.remove(cluster)))
    }

    /// What clusters issued for an app context's requests.
    ///
    /// # Errors
    /// [`Error`].
    async fn results(&self, id: &ContextId) -> Result<Results, Error>;

    /// What one cluster issued for one request; none while it has not. Whoever needs one result need not read all.
    ///
    /// # Errors
    /// [`Error`].
    async fn result(
        &self,
        id: &ContextId,
        cluster: &ClusterId,
        request: &str,
    ) -> Result<Option<Issued>, Error> {
        let mut results = self.results(id).await?;
        Ok(results.get_mut(cluster).and_then(|of_cluster| of_cluster.remove(request)))
    }

    /// Follows an app context.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::NotFound`] when there is no such context to begin with.
    async fn watch(&self, id: &ContextId) -> Result<StatusStream, Error>;

    /// Waits until each cluster of an app context is as desired or action is required, and returns the status then. By default it reads a
    /// whole status after each change; an implementation that knows what changed does better.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::NotFound`] when the app context is forgotten meanwhile.
    async fn wait_until_done(&self, id: &ContextId) -> Result<ContextStatus, Error> {
        let mut statuses = self.watch(id).await?;
        while let Some(status) = statuses.next().await {
            let status = status?;
            if status.progress != Progress::Working {
                return Ok(status);
            }
        }
        Err(Error::NotFound { id: id.clone() })
    }
}
