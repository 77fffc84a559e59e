//! What goes into the engine's state machine and what comes out of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{
    self, Call, ClusterUid, Contents, Deletion, IssuedToken, Object, Origin, Part, Precondition, Stamped,
    WatchEvent,
};
use dcm_core::port::proof::{ClusterProofKey, ProofKey};
use dcm_core::port::store::{self, Entry, Version};
use dcm_core::port::synchronizer;
use dcm_core::port::trial::Trial;

use crate::contexts::{LoadError, Loaded};
use crate::record::{self, Lane, Outcome, Shard, Worker, WorkerId};

use super::event::Event;

/// Names one lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaneId {
    pub cluster: ClusterId,
    pub context: ContextId,
}

/// Identifies one request to a cluster, or one reading or writing of a lane's record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub u64);

/// Counts the connections of a shard: what an earlier one still tells is not heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch(pub u64);

/// What requests are about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Context(ContextId),
    Cluster(ClusterId),
}

/// A sign of life of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sign {
    pub version: Version,
    /// The worker takes every cluster, not only those that its own caller waits for.
    pub serves: bool,
    /// How long its session lives unchanged, as it says itself; none where that can't be read.
    pub lease: Option<Duration>,
}

impl Sign {
    /// What a worker's session says. One that can't be read lives, too, and takes nothing.
    pub(crate) fn of(session: &Entry) -> Self {
        let worker: Option<Worker> = record::read(session).ok();
        Self {
            version: session.version,
            serves: worker.as_ref().is_some_and(|worker| worker.serves),
            lease: worker.map(|worker| Duration::from_millis(worker.lease_ms)),
        }
    }
}

/// What the machine is told.
pub(crate) enum Input {
    /// All shards, workers and roots that there were at the start have been told, and this is the installation's key.
    Listed(ProofKey),
    /// A root was made, changed or deleted.
    ContextChanged(ContextId),
    ContextLoaded(ContextId, Result<Option<Loaded>, LoadError>),
    LaneLoaded(LaneId, Ticket, Result<Option<(Lane, Version)>, store::Error>),
    LaneSaved(LaneId, Ticket, Result<SavedLane, store::Error>),
    WorkerChanged(WorkerId, Option<Sign>),
    /// A worker's session was looked up; none: it has ended.
    SessionLoaded(WorkerId, Result<Option<Sign>, store::Error>),
    ShardChanged(ClusterId, Option<(Shard, Version)>),
    SessionSaved(Result<Version, store::Error>),
    ShardSaved(ClusterId, Result<Version, store::Error>),
    Connected(ClusterId, Epoch, Result<Identified, cluster::Error>),
    /// An event of a watch, or none when the watch ended. After an [`Effect::Watch`] is carried out, earlier watches on the kind send nothing.
    Watched(ClusterId, Epoch, GroupVersionKind, Result<Option<WatchEvent>, cluster::Error>),
    Replied(Ticket, Result<Reply, cluster::Error>),
    /// The records of a forgotten context went, as far as none of its clusters is abandoned.
    Buried(ContextId, Result<(), synchronizer::Error>),
    /// What was awaited: no request is under way any more.
    Quiet(Scope),
    /// Finish what is under way, give everything back, and stop.
    Stop,
    /// The time that [`super::machine::Machine::next_wake`] named has come.
    Wake,
}

/// A cluster that answered.
pub(crate) struct Identified {
    pub uid: ClusterUid,
    /// The other name under which it is worked on already; none where it is ours. Not looked for where the name is known to
    /// stand for another cluster.
    pub first: Result<Option<ClusterId>, store::Error>,
}

/// What the machine wants done.
pub(crate) enum Effect {
    LoadContext(ContextId),
    LoadLane(LaneId, Ticket),
    LoadSession(WorkerId),
    SaveLane(Box<SaveLane>),
    SaveSession {
        worker: WorkerId,
        record: Worker,
        version: Option<Version>,
    },
    DeleteSession {
        worker: WorkerId,
        version: Version,
    },
    SaveShard {
        cluster: ClusterId,
        record: Shard,
        version: Option<Version>,
    },
    Connect(ClusterId, Epoch),
    Disconnect(ClusterId),
    Watch(ClusterId, Epoch, GroupVersionKind, Call),
    Call(Box<ClusterCall>),
    Publish(Event),
    /// Tell when no request is under way.
    AwaitQuiet(Scope),
    /// Drop the records of a forgotten context, if none of its clusters is abandoned any more.
    Bury(ContextId),
    /// Everything is given back.
    Stopped,
}

/// A lane's record, with what is written together with it.
pub(crate) struct SaveLane {
    pub ticket: Ticket,
    pub id: LaneId,
    pub lane: Lane,
    /// The version that the stored record has; none: there is no record yet.
    pub version: Option<Version>,
    pub outcomes: Vec<Outcome>,
    /// Namespaces that the lane needs no more: claims on them are dropped, before the record is stored.
    pub given_up: BTreeSet<Arc<str>>,
}

/// A lane's record is stored.
pub(crate) struct SavedLane {
    pub version: Version,
    /// Whether the results are gone that it does not name.
    pub dropped: Result<(), store::Error>,
}

/// One request to a cluster.
pub(crate) struct ClusterCall {
    pub ticket: Ticket,
    pub cluster: ClusterId,
    pub epoch: Epoch,
    pub call: Call,
    pub request: Request,
    pub limit: Duration,
    #[cfg(feature = "planted-faults")]
    pub hits_whatever_is_there: bool,
}

/// What is asked of a cluster.
pub(crate) enum Request {
    Get {
        kind: GroupVersionKind,
        key: ObjectKey,
    },
    Create(Stamped),
    Update {
        object: Stamped,
        observed: Precondition,
        force: bool,
    },
    Delete {
        kind: GroupVersionKind,
        key: ObjectKey,
        observed: Precondition,
    },
    Release {
        kind: GroupVersionKind,
        key: ObjectKey,
        observed: Precondition,
        origin: Origin,
    },
    /// Replaces a part of an object of another client.
    SetPart {
        kind: GroupVersionKind,
        key: ObjectKey,
        observed: Precondition,
        part: Part,
    },
    Approve {
        key: ObjectKey,
        observed: Precondition,
    },
    /// A token, which is tried at once.
    Token(TokenRequest),
    /// Whether the cluster accepts the certificate that it issued for the request of this name.
    Try {
        name: Arc<str>,
        key: ObjectKey,
        pem: Arc<str>,
    },
    /// Whether the cluster still accepts what is stored for the request of this name.
    TryAgain {
        name: Arc<str>,
        key: ObjectKey,
        lifetime: Option<Duration>,
    },
    Contents {
        namespace: Arc<str>,
        proofs: Option<ClusterProofKey>,
        /// Before they are counted, the RoleBindings of other clients are deleted.
        removes_bindings: bool,
    },
}

/// What came of trying again what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retrial {
    /// The cluster accepts it, or there is nothing that could be tried.
    Accepted,
    Refused,
    /// The store or the cluster gave no answer.
    Unknown,
}

/// What a cluster answered.
pub(crate) enum Reply {
    Found(Option<Object>),
    Written(Object),
    Deleted(Deletion),
    Released,
    PartSet(Object),
    Token(IssuedToken, Result<Trial, cluster::Error>),
    Tried {
        pem: Arc<str>,
        trial: Result<Trial, cluster::Error>,
    },
    TriedAgain(Retrial),
    /// The private key of the certificate is not kept here, so it can't be tried.
    Untried {
        pem: Arc<str>,
    },
    /// The private key could not be read.
    Unread(store::Error),
    Contents(Contents),
}
