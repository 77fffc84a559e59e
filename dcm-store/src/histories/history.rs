//! What happened: who asked what when, and what was answered when.

use std::collections::BTreeMap;
use std::fmt;

use dcm_core::port::store::{Path, Prefix, Version};
use serde::{Deserialize, Serialize};

use super::content::WriteId;

/// A moment. What happened before something else has the lower number; what has the same may be in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment(pub u64);

/// One that makes its calls one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Client(pub u32);

impl Client {
    /// Lists everything when all others are done.
    pub const LAST: Self = Self(u32::MAX);
}

/// Identifies a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId {
    /// Who calls.
    pub client: Client,
    /// How many calls it made before.
    pub number: u32,
}

/// One thing that happened. A history can be put together from those of several processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A call begins.
    Invoked {
        /// Which.
        call: CallId,
        /// When.
        at: Moment,
        /// What is asked.
        request: Request,
    },
    /// A call ends.
    Returned {
        /// Which.
        call: CallId,
        /// When.
        at: Moment,
        /// What was answered.
        outcome: Outcome,
    },
    /// A watch tells something.
    Told {
        /// The call that gave the watch.
        call: CallId,
        /// When.
        at: Moment,
        /// What.
        told: Told,
    },
    /// A watch ends, or is dropped.
    Ended {
        /// The call that gave the watch.
        call: CallId,
        /// When.
        at: Moment,
    },
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// One document.
    Get(Path),
    /// One page.
    List {
        /// The folder that is listed.
        folder: Path,
        /// After which path.
        after: Option<Path>,
        /// How many documents at most.
        limit: usize,
    },
    /// A batch.
    Write(Vec<Piece>),
    /// The changes below a folder from now on.
    Watch(Path),
}

/// One write of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Where.
    pub path: Path,
    /// The version that must be there; none: there must be no document.
    pub expects: Option<Version>,
    /// What is written; none: the document is deleted.
    pub puts: Option<WriteId>,
}

/// A document that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Where.
    pub path: Path,
    /// In which version.
    pub version: Version,
    /// From which write; none when its content is that of no write.
    pub write: Option<WriteId>,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The document, or that there is none.
    Got(Option<Sighting>),
    /// A page.
    Listed {
        /// The documents.
        entries: Vec<Sighting>,
        /// Where to go on.
        next: Option<Path>,
    },
    /// All is written, in these versions.
    Written(Vec<Version>),
    /// A write did not find what it expects.
    Conflict {
        /// How many writes before it stay.
        applied: usize,
        /// Which document.
        path: Path,
        /// What was there instead.
        found: Option<Version>,
    },
    /// The watch has begun.
    Watching,
    /// Nobody knows.
    Unavailable {
        /// How many writes of a batch stay at least.
        applied: usize,
    },
    /// It failed for good, in these words.
    Failed(String),
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// The document is now so.
    Put(Sighting),
    /// The document is gone.
    Deleted(Path),
}

impl Told {
    /// Which document it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Put(sighting) => &sighting.path,
            Self::Deleted(path) => path,
        }
    }
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub id: CallId,
    /// What was asked.
    pub request: Request,
    /// When it was asked.
    pub invoked: Moment,
    /// What was answered, and when; none when the caller died before.
    pub answer: Option<(Moment, Outcome)>,
}

impl Call {
    /// What it asks to write.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        match &self.request {
            Request::Write(pieces) => pieces,
            Request::Get(_) | Request::List { .. } | Request::Watch(_) => &[],
        }
    }
}

/// A watch, from its call on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The call that gave it.
    pub id: CallId,
    /// What it follows.
    pub folder: Path,
    /// When it was asked for.
    pub invoked: Moment,
    /// When it was given.
    pub began: Moment,
    /// What it told, and when.
    pub told: Vec<(Moment, Told)>,
    /// When it ended; none for one that is still read.
    pub ended: Option<Moment>,
}

impl Session {
    /// True for what it follows.
    #[must_use]
    pub fn follows(&self, path: &Path) -> bool {
        Prefix::below(&self.folder).contains(path)
    }
}

/// All that happened in a fresh folder of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The store applies a batch as a whole or not at all.
    pub atomic_batches: bool,
    /// All calls, in the order of their beginning.
    pub calls: Vec<Call>,
    /// The watches that began.
    pub sessions: Vec<Session>,
}

impl History {
    /// Joins events, each client's in their order.
    #[must_use]
    pub fn new(atomic_batches: bool, events: impl IntoIterator<Item = Event>) -> Self {
        let (mut calls, mut sessions) = (BTreeMap::new(), BTreeMap::<CallId, Session>::new());
        for event in events {
            match event {
                Event::Invoked { call: id, at, request } => {
                    calls.insert(id, Call { id, request, invoked: at, answer: None });
                }
                Event::Returned { call, at, outcome } => {
                    let Some(asked) = calls.get_mut(&call) else { continue };
                    if let (Request::Watch(folder), Outcome::Watching) = (&asked.request, &outcome) {
                        let (folder, invoked) = (folder.clone(), asked.invoked);
                        let session =
                            Session { id: call, folder, invoked, began: at, told: Vec::new(), ended: None };
                        sessions.insert(call, session);
                    }
                    asked.answer = Some((at, outcome));
                }
                Event::Told { call, at, told } => {
                    if let Some(session) = sessions.get_mut(&call) {
                        session.told.push((at, told));
                    }
                }
                Event::Ended { call, at } => {
                    if let Some(session) = sessions.get_mut(&call) {
                        session.ended.get_or_insert(at);
                    }
                }
            }
        }
        let mut calls: Vec<Call> = calls.into_values().collect();
        calls.sort_by_key(|call| (call.invoked, call.id));
        Self { atomic_batches, calls, sessions: sessions.into_values().collect() }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::LAST { f.write_str("the last reader") } else { write!(f, "client {}", self.0) }
    }
}
