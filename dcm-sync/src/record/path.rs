//! Where the engine's records lie in the store.
//!
//! [`ROOMS`] says what is where.

use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::room::Room;
use dcm_core::port::store::{Path, Prefix};

use super::WorkerId;

/// Where app contexts and the state of the work on them lie.
pub const ROOMS: [Room; 9] = [
    Room {
        name: "contexts",
        keys: &["context", "record"],
        holds: "the root of an app context: the commit point of a desired state",
        made_by: "`Contexts::apply`",
    },
    Room {
        name: "manifests",
        keys: &["context", "hash"],
        holds: "one distinct manifest",
        made_by: "`Contexts::apply`",
    },
    Room {
        name: "lanes",
        keys: &["context", "provider", "cluster"],
        holds: "how far an app context is on a cluster",
        made_by: "`Contexts::apply`; then its worker",
    },
    Room {
        name: "results",
        keys: &["context", "provider", "cluster", "request"],
        holds: "what a cluster issued for a request",
        made_by: "the cluster's worker",
    },
    Room {
        name: "claims",
        keys: &["provider", "cluster", "namespace"],
        holds: "the app context that a namespace of a cluster belongs to",
        made_by: "`Contexts::apply`",
    },
    Room {
        name: "claiming",
        keys: &["context"],
        holds: "claims that are being made",
        made_by: "`Contexts::apply`",
    },
    Room {
        name: "shards",
        keys: &["provider", "cluster"],
        holds: "the worker that a cluster belongs to, with its fence",
        made_by: "a worker that takes the cluster",
    },
    Room {
        name: "workers",
        keys: &["worker"],
        holds: "the session of a worker",
        made_by: "a worker that begins",
    },
    Room {
        name: "forgotten",
        keys: &[],
        holds: "how far numbers went, of app contexts that are forgotten",
        made_by: "`Contexts::forget`",
    },
];

/// Hexadecimal digits of a request's name in a path: enough to never meet another one, short enough to read.
const REQUEST_DIGITS: usize = 32;

fn path(segments: &[&str]) -> Path {
    let text = segments.join("/");
    Path::new(&text).unwrap_or_else(|_| unreachable!("names are legal segments: {text:?}"))
}

/// The folder of all roots.
pub(crate) fn contexts() -> Prefix {
    Prefix::below(&path(&["contexts"]))
}

pub(crate) fn root(context: &ContextId) -> Path {
    path(&["contexts", context.as_str(), "root"])
}

/// The folder in which a context's root lies.
pub(crate) fn context_folder(context: &ContextId) -> Path {
    path(&["contexts", context.as_str()])
}

/// The context whose root lies at a path.
pub(crate) fn context_of_root(path: &Path) -> Option<ContextId> {
    let mut segments = path.segments();
    (segments.next() == Some("contexts")).then_some(())?;
    ContextId::new(segments.next()?).ok()
}

pub(crate) fn manifests(context: &ContextId) -> Prefix {
    Prefix::below(&path(&["manifests", context.as_str()]))
}

pub(crate) fn manifest(context: &ContextId, hash: ContentHash) -> Path {
    path(&["manifests", context.as_str(), &hash.to_string()])
}

/// The hash of the manifest that lies at a path.
pub(crate) fn hash_of_manifest(path: &Path) -> Option<ContentHash> {
    path.segments().next_back()?.parse().ok()
}

/// The folder of all lanes of all contexts.
pub(crate) fn all_lanes() -> Prefix {
    Prefix::below(&path(&["lanes"]))
}

/// The context whose lane lies at a path.
pub(crate) fn context_of_lane(path: &Path) -> Option<ContextId> {
    ContextId::new(path.segments().nth(1)?).ok()
}

pub(crate) fn lanes(context: &ContextId) -> Prefix {
    Prefix::below(&path(&["lanes", context.as_str()]))
}

pub(crate) fn lane(context: &ContextId, cluster: &ClusterId) -> Path {
    path(&["lanes", context.as_str(), cluster.provider.as_str(), cluster.cluster.as_str()])
}

/// The folder of all results of all contexts.
pub(crate) fn all_results() -> Prefix {
    Prefix::below(&path(&["results"]))
}

pub(crate) fn results(context: &ContextId) -> Prefix {
    Prefix::below(&path(&["results", context.as_str()]))
}

pub(crate) fn results_on(context: &ContextId, cluster: &ClusterId) -> Prefix {
    let (provider, cluster) = (cluster.provider.as_str(), cluster.cluster.as_str());
    Prefix::below(&path(&["results", context.as_str(), provider, cluster]))
}

pub(crate) fn result(context: &ContextId, cluster: &ClusterId, request: &str) -> Path {
    let digits = ContentHash::of_bytes(request.as_bytes()).short(REQUEST_DIGITS);
    path(&["results", context.as_str(), cluster.provider.as_str(), cluster.cluster.as_str(), &digits])
}

pub(crate) fn claim(cluster: &ClusterId, namespace: &str) -> Path {
    path(&["claims", cluster.provider.as_str(), cluster.cluster.as_str(), namespace])
}

pub(crate) fn claiming(context: &ContextId) -> Path {
    path(&["claiming", context.as_str()])
}

/// True for the path of a claim.
pub(crate) fn is_claim(path: &Path) -> bool {
    path.segments().next() == Some("claims")
}

/// The folder of a cluster's claims.
#[cfg(feature = "sim")]
pub(crate) fn claims(cluster: &ClusterId) -> Path {
    path(&["claims", cluster.provider.as_str(), cluster.cluster.as_str()])
}

/// The folder of all shards.
pub(crate) fn shards() -> Prefix {
    Prefix::below(&path(&["shards"]))
}

pub(crate) fn shard(cluster: &ClusterId) -> Path {
    path(&["shards", cluster.provider.as_str(), cluster.cluster.as_str()])
}

pub(crate) fn forgotten() -> Path {
    path(&["forgotten"])
}

/// The folder of all workers.
pub(crate) fn workers() -> Prefix {
    Prefix::below(&path(&["workers"]))
}

pub(crate) fn worker(worker: &WorkerId) -> Path {
    path(&["workers", worker.as_str()])
}

/// The worker whose session lies at a path.
pub(crate) fn worker_of(path: &Path) -> Option<WorkerId> {
    path.segments().nth(1).map(WorkerId::of)
}

/// The cluster that a record's path names, from the given segment on.
pub(crate) fn cluster_of(path: &Path, provider_segment: usize) -> Option<ClusterId> {
    let mut segments = path.segments().skip(provider_segment);
    ClusterId::new(segments.next()?, segments.next()?).ok()
}
