//! What a simulated server is asked, what it answers, and its log of both.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{
    Access, Call, ClusterUid, Contents, Deletion, Error, IssuedToken, Object, Origin, Part, Precondition,
    Selection, ServerInfo,
};
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::trial::{ClientCredential, Trial};
use jiff::Timestamp;
use serde_json::Value;

/// One request as it arrives at the server.
#[derive(Debug, Clone)]
pub struct Request {
    /// On whose behalf.
    pub call: Call,
    /// What is asked for.
    pub operation: Operation,
}

/// What a request asks for: one variant for each method of the `Cluster` port.
#[derive(Debug, Clone)]
pub enum Operation {
    /// The UID of `kube-system`.
    Uid,
    /// Version and time.
    Info,
    /// The kinds of namespaced objects.
    Kinds,
    /// One object.
    Get {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
    },
    /// All objects of a kind.
    List {
        /// The kind.
        kind: GroupVersionKind,
        /// In which namespace; none for all.
        namespace: Option<Arc<str>>,
    },
    /// A new object.
    Create {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
        /// All of it.
        body: Value,
    },
    /// A server-side apply under our field manager.
    Update {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
        /// What is applied.
        body: Value,
        /// The state that it is based on.
        observed: Precondition,
        /// Whether fields of other managers are taken over.
        force: bool,
    },
    /// What one of the two would leave behind; nothing is written.
    Rehearse {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
        /// What would be applied, or made.
        body: Value,
        /// The state that it is based on; none for a new object.
        observed: Option<Precondition>,
        /// Whether fields of other managers would be taken over.
        force: bool,
    },
    /// Taking our marks and our ownership off.
    Release {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
        /// The state that it is based on.
        observed: Precondition,
        /// Where the object comes from.
        origin: Origin,
    },
    /// Replacing a part of an object of another client.
    SetPart {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
        /// The state that it is based on.
        observed: Precondition,
        /// The part.
        part: Part,
    },
    /// A deletion.
    Delete {
        /// Its kind.
        kind: GroupVersionKind,
        /// Which one.
        key: ObjectKey,
        /// The state that it is based on.
        observed: Precondition,
    },
    /// The list that a watch begins with.
    Watch {
        /// Which objects.
        selection: Selection,
    },
    /// Approval of a CertificateSigningRequest.
    Approve {
        /// Which one.
        key: ObjectKey,
        /// The state that was looked at.
        observed: Precondition,
    },
    /// A token for a ServiceAccount.
    IssueToken(TokenRequest),
    /// Whether a user's credential is accepted.
    TryCredential(ClientCredential),
    /// What is in a namespace.
    Contents {
        /// The namespace.
        namespace: Arc<str>,
        /// What proves that an object is ours.
        proofs: Option<ClusterProofKey>,
    },
    /// What we may do.
    Review {
        /// What is asked about.
        accesses: Vec<Access>,
    },
}

/// The name of an [`Operation`], for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// [`Operation::Uid`].
    Uid,
    /// [`Operation::Info`].
    Info,
    /// [`Operation::Kinds`].
    Kinds,
    /// [`Operation::Get`].
    Get,
    /// [`Operation::List`].
    List,
    /// [`Operation::Create`].
    Create,
    /// [`Operation::Update`].
    Update,
    /// [`Operation::Rehearse`].
    Rehearse,
    /// [`Operation::Release`].
    Release,
    /// [`Operation::SetPart`].
    SetPart,
    /// [`Operation::Delete`].
    Delete,
    /// [`Operation::Watch`].
    Watch,
    /// [`Operation::Approve`].
    Approve,
    /// [`Operation::IssueToken`].
    IssueToken,
    /// [`Operation::TryCredential`].
    TryCredential,
    /// [`Operation::Contents`].
    Contents,
    /// [`Operation::Review`].
    Review,
}

impl Verb {
    /// True for what changes something on the cluster, or makes something there.
    #[must_use]
    pub fn is_write(self) -> bool {
        match self {
            Self::Create
            | Self::Update
            | Self::Release
            | Self::SetPart
            | Self::Delete
            | Self::Approve
            | Self::IssueToken => true,
            Self::Uid
            | Self::Info
            | Self::Kinds
            | Self::Get
            | Self::List
            | Self::Rehearse
            | Self::Watch
            | Self::TryCredential
            | Self::Contents
            | Self::Review => false,
        }
    }
}

impl Operation {
    /// Its name.
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Self::Uid => Verb::Uid,
            Self::Info => Verb::Info,
            Self::Kinds => Verb::Kinds,
            Self::Get { .. } => Verb::Get,
            Self::List { .. } => Verb::List,
            Self::Create { .. } => Verb::Create,
            Self::Update { .. } => Verb::Update,
            Self::Rehearse { .. } => Verb::Rehearse,
            Self::Release { .. } => Verb::Release,
            Self::SetPart { .. } => Verb::SetPart,
            Self::Delete { .. } => Verb::Delete,
            Self::Watch { .. } => Verb::Watch,
            Self::Approve { .. } => Verb::Approve,
            Self::IssueToken(_) => Verb::IssueToken,
            Self::TryCredential(_) => Verb::TryCredential,
            Self::Contents { .. } => Verb::Contents,
            Self::Review { .. } => Verb::Review,
        }
    }

    /// The kind of the objects that it is about, if it is about some of one kind.
    pub(super) fn kind(&self) -> Option<&GroupVersionKind> {
        match self {
            Self::Get { kind, .. }
            | Self::List { kind, .. }
            | Self::Create { kind, .. }
            | Self::Update { kind, .. }
            | Self::Rehearse { kind, .. }
            | Self::Release { kind, .. }
            | Self::SetPart { kind, .. }
            | Self::Delete { kind, .. }
            | Self::Watch { selection: Selection { kind, .. } } => Some(kind),
            Self::Uid
            | Self::Info
            | Self::Kinds
            | Self::Approve { .. }
            | Self::IssueToken(_)
            | Self::TryCredential(_)
            | Self::Contents { .. }
            | Self::Review { .. } => None,
        }
    }

    /// The one object that it is about, if it is about one.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Get { key, .. }
            | Self::Create { key, .. }
            | Self::Update { key, .. }
            | Self::Rehearse { key, .. }
            | Self::Release { key, .. }
            | Self::SetPart { key, .. }
            | Self::Delete { key, .. }
            | Self::Approve { key, .. } => Some(key),
            Self::Uid
            | Self::Info
            | Self::Kinds
            | Self::List { .. }
            | Self::Watch { .. }
            | Self::IssueToken(_)
            | Self::TryCredential(_)
            | Self::Contents { .. }
            | Self::Review { .. } => None,
        }
    }
}

/// What a server answers.
#[derive(Debug, Clone)]
pub enum Reply {
    /// To [`Operation::Uid`].
    Uid(ClusterUid),
    /// To [`Operation::Info`].
    Info(ServerInfo),
    /// To [`Operation::Kinds`].
    Kinds(Vec<GroupVersionKind>),
    /// To [`Operation::Get`].
    Found(Option<Object>),
    /// To [`Operation::List`].
    All(Vec<Object>),
    /// To a write of one object: its state now.
    Written(Object),
    /// To [`Operation::Rehearse`]: the object as it would be.
    Rehearsed(Value),
    /// To [`Operation::Delete`].
    Deleted(Deletion),
    /// To [`Operation::Watch`].
    Listed {
        /// The selected objects.
        objects: Vec<Object>,
        /// The state of the server that they belong to: changes after it follow.
        revision: u64,
    },
    /// To [`Operation::IssueToken`].
    Issued(IssuedToken),
    /// To [`Operation::TryCredential`].
    Tried(Trial),
    /// To [`Operation::Contents`].
    Contents(Contents),
    /// To [`Operation::Review`].
    Reviewed(Vec<bool>),
}

/// One line of a server's log.
#[derive(Debug, Clone)]
pub struct Logged {
    /// When it arrived.
    pub at: Timestamp,
    /// The User-Agent.
    pub agent: Arc<str>,
    /// What was asked for.
    pub verb: Verb,
    /// About which object, if about one.
    pub key: Option<ObjectKey>,
    /// Why it was refused, if it was.
    pub error: Option<Error>,
}

/// What was asked of a server: counts of all, and the last lines.
#[derive(Debug, Clone, Default)]
pub struct RequestLog {
    counts: BTreeMap<Verb, u64>,
    lines: VecDeque<Logged>,
}

impl RequestLog {
    pub(super) fn add(&mut self, mut line: Logged, lines_max: usize) {
        *self.counts.entry(line.verb).or_default() += 1;
        if let Some(last) = self.lines.back().filter(|last| last.agent == line.agent) {
            // The same caller asks many times: one text is enough.
            line.agent = last.agent.clone();
        }
        self.lines.push_back(line);
        if self.lines.len() > lines_max {
            self.lines.pop_front();
        }
    }

    /// How many requests of this verb arrived.
    #[must_use]
    pub fn count(&self, verb: Verb) -> u64 {
        self.counts.get(&verb).copied().unwrap_or(0)
    }

    /// How many requests arrived that write.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.counts.iter().filter(|(verb, _)| verb.is_write()).map(|(_, count)| count).sum()
    }

    /// How many requests arrived that only read.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.counts.iter().filter(|(verb, _)| !verb.is_write()).map(|(_, count)| count).sum()
    }

    /// The last lines, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &Logged> {
        self.lines.iter()
    }

    /// Forgets all, so that a test counts from here.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
