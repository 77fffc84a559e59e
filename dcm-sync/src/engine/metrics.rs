//! Figures of an engine: what it counts while it works, and what is looked up when somebody asks.
//!
//! Nothing is kept for a lane: states are counted when a snapshot is asked for, by one pass over the lanes of the clusters
//! that this worker holds. A worker tells of no other's clusters, so the sum over all workers counts each lane once. An idle
//! lane costs nothing between two snapshots, and a request one look-up in a map of its cluster.
//!
//! How many series there are is bounded by the number of clusters: each has at most one for a verb and a [`Code`], of which
//! there are few whatever a server answers. Names of contexts, objects and users are in none.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use dcm_core::name::ClusterId;
use dcm_core::port::cluster;

use super::event::What;

/// Upper bounds of the ranges in which durations of requests are counted, in milliseconds. A longer one is in the last range,
/// which has no bound; the engine's own limit for a request is half a minute.
pub const DURATION_BOUNDS: [u64; 10] = [5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000];

/// How many ranges there are.
const RANGES: usize = DURATION_BOUNDS.len() + 1;

/// What an engine tells of itself at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The lanes of the clusters that this worker holds, by state. A lane whose record is not read yet is in none.
    pub lanes: BTreeMap<&'static str, u64>,
    /// Those that hold drift: corrected soon, or reported only.
    pub lanes_drifted: u64,
    /// Those that wait for their turn: the cluster's budget of requests is used up.
    pub lanes_queued: u64,
    /// For how long the lane that has been pending, working or removing longest is so; paused ones don't count. None: there is
    /// no such lane.
    pub oldest_waiting: Option<Duration>,
    /// How many clusters this worker holds.
    pub clusters_held: u64,
    /// How many of them are connected.
    pub clusters_connected: u64,
    /// How many requests are under way.
    pub requests_under_way: u64,
    /// Objects that clusters told with our owner label and marks that nothing proves, since the engine was started. They are
    /// not kept.
    pub objects_unproved: u64,
    /// Objects of app contexts that the store does not know, or that were not loaded yet, for which there was no room.
    pub objects_unkept: u64,
    /// The longest time, since the engine was started, for which one step held its loop, in which all clusters wait.
    pub longest_step: Duration,
    /// Requests to clusters since the engine was started.
    pub requests: BTreeMap<ClusterId, BTreeMap<(Verb, Code), u64>>,
    /// How long they took.
    pub durations: BTreeMap<Verb, Durations>,
    /// Events since the engine was started, by what happened.
    pub events: BTreeMap<&'static str, u64>,
}

/// How long requests took, such as those of one verb.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many were in each range of [`DURATION_BOUNDS`], and over the last bound; not added up.
    pub counts: [u64; RANGES],
    /// All together.
    pub sum: Duration,
}

impl Durations {
    /// Counts one more.
    pub fn count(&mut self, took: Duration) {
        let range = DURATION_BOUNDS.iter().position(|bound| took <= Duration::from_millis(*bound));
        self.counts[range.unwrap_or(RANGES - 1)] += 1;
        self.sum += took;
    }
}

/// What was asked of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// A connection, with a look at which cluster it is.
    Connect,
    /// The objects of one kind, and then their changes: until it was opened.
    Watch,
    /// One object by its name.
    Get,
    /// A new object.
    Create,
    /// A change of one.
    Update,
    /// A deletion.
    Delete,
    /// That an object is given back.
    Release,
    /// An approval of a certificate request.
    Approve,
    /// A token of a ServiceAccount.
    Token,
    /// Whether the cluster accepts a credential that it issued.
    Try,
    /// What is in a namespace.
    Contents,
}

impl Verb {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Watch => "watch",
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Release => "release",
            Self::Approve => "approve",
            Self::Token => "token",
            Self::Try => "try",
            Self::Contents => "contents",
        }
    }
}

/// What a cluster answered, in as few words as tell something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// What was asked for.
    Success,
    /// This status of HTTP; only such as have a meaning of their own here.
    Status(u16),
    /// Another status from 500 on.
    Server,
    /// It did not answer in time.
    TimedOut,
    /// It was not reached.
    Unreachable,
    /// It was not asked, for a reason on our side.
    Unasked,
}

impl Code {
    /// What an answer counts as.
    #[must_use]
    pub fn of<T>(answer: &Result<T, cluster::Error>) -> Self {
        use cluster::Error;
        match answer {
            Ok(_) => Self::Success,
            Err(Error::Unreachable { .. }) => Self::Unreachable,
            Err(Error::TimedOut { .. }) => Self::TimedOut,
            Err(Error::Unauthorized { .. }) => Self::Status(401),
            Err(Error::Forbidden { .. }) => Self::Status(403),
            Err(Error::NotFound | Error::UnknownKind { .. }) => Self::Status(404),
            Err(Error::AlreadyExists | Error::Conflict | Error::FieldConflict { .. }) => Self::Status(409),
            Err(Error::Gone) => Self::Status(410),
            Err(Error::Invalid { .. }) => Self::Status(422),
            Err(Error::TooManyRequests { .. }) => Self::Status(429),
            Err(Error::Server { code: code @ (408 | 500 | 502 | 503 | 504), .. }) => Self::Status(*code),
            Err(Error::Server { .. }) => Self::Server,
            Err(Error::Unsupported { .. } | Error::Kubeconfig { .. } | Error::Moved) => Self::Unasked,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("2xx"),
            Self::Status(code) => write!(f, "{code}"),
            Self::Server => f.write_str("5xx"),
            Self::TimedOut => f.write_str("timeout"),
            Self::Unreachable => f.write_str("unreachable"),
            Self::Unasked => f.write_str("unasked"),
        }
    }
}

/// What is counted while the engine works.
#[derive(Debug, Default)]
pub(super) struct Counters {
    requests: BTreeMap<ClusterId, BTreeMap<(Verb, Code), u64>>,
    durations: BTreeMap<Verb, Durations>,
    events: BTreeMap<&'static str, u64>,
}

impl Counters {
    pub(super) fn answered(&mut self, cluster: &ClusterId, verb: Verb, code: Code, took: Duration) {
        // Cloned once for a cluster, not for each request.
        if !self.requests.contains_key(cluster) {
            self.requests.insert(cluster.clone(), BTreeMap::new());
        }
        if let Some(counts) = self.requests.get_mut(cluster) {
            *counts.entry((verb, code)).or_default() += 1;
        }
        self.durations.entry(verb).or_default().count(took);
    }

    pub(super) fn happened(&mut self, what: &What) {
        *self.events.entry(what.name()).or_default() += 1;
    }

    /// Completes what was looked up.
    pub(super) fn complete(&self, looked_up: Metrics, longest_step: Duration) -> Metrics {
        let Self { requests, durations, events } = self;
        let (requests, durations, events) = (requests.clone(), durations.clone(), events.clone());
        Metrics { longest_step, requests, durations, events, ..looked_up }
    }
}
