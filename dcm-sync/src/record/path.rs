//! Where the engine's records lie in the store.
//!
//! [`ROOMS`] says what is where.

use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::room::Room;
use dcm_core::port::store::{Path, Prefix};

use super::WorkerId;

const CONTEXTS: Room = Room {
    name: "contexts",
    keys: &["context", "record"],
    holds: "the root of an app context: the commit point of a desired state",
};

const MANIFESTS: Room =
    Room { name: "manifests", keys: &["context", "hash"], holds: "one distinct manifest" };

const LANES: Room = Room {
    name: "lanes",
    keys: &["context", "provider", "cluster"],
    holds: "how far an app context is on a cluster",
};

const RESULTS: Room = Room {
    name: "results",
    keys: &["context", "provider", "cluster", "request"],
    holds: "what a cluster issued for a request",
};

const CLAIMS: Room = Room {
    name: "claims",
    keys: &["provider", "cluster", "namespace"],
    holds: "the app context that a namespace of a cluster belongs to",
};

const CLAIMING: Room = Room { name: "claiming", keys: &["context"], holds: "claims that are being made" };

const SHARDS: Room = Room {
    name: "shards",
    keys: &["provider", "cluster"],
    holds: "the worker that a cluster belongs to, with its fence",
};

const IDENTITIES: Room = Room {
    name: "identities",
    keys: &["uid"],
    holds: "the name under which a cluster is worked on, by a digest of its UID",
};

const WORKERS: Room = Room { name: "workers", keys: &["worker"], holds: "the session of a worker" };

const FORGOTTEN: Room =
    Room { name: "forgotten", keys: &[], holds: "how far numbers went, of app contexts that are forgotten" };

const PROOFS: Room = Room {
    name: "proofs",
    keys: &[],
    holds: "the key that proves which labels and annotations on clusters are ours",
};

/// Where app contexts and the state of the work on them lie.
pub const ROOMS: [Room; 11] =
    [CONTEXTS, MANIFESTS, LANES, RESULTS, CLAIMS, CLAIMING, SHARDS, IDENTITIES, WORKERS, FORGOTTEN, PROOFS];

/// Hexadecimal digits of a request's name in a path: enough to never meet another one, short enough to read.
const REQUEST_DIGITS: usize = 32;

/// Hexadecimal digits of a cluster's UID in a path: a digest that no other text can be found for.
const IDENTITY_DIGITS: usize = 64;

/// The folder of all roots.
pub(crate) fn contexts() -> Prefix {
    CONTEXTS.below(&[])
}

pub(crate) fn root(context: &ContextId) -> Path {
    CONTEXTS.at(&[context.as_str(), "root"])
}

/// The folder in which a context's root lies.
pub(crate) fn context_folder(context: &ContextId) -> Path {
    CONTEXTS.at(&[context.as_str()])
}

/// The context whose root lies at a path.
pub(crate) fn context_of_root(path: &Path) -> Option<ContextId> {
    ContextId::new(CONTEXTS.key(path, "context")?).ok()
}

pub(crate) fn manifests(context: &ContextId) -> Prefix {
    MANIFESTS.below(&[context.as_str()])
}

pub(crate) fn manifest(context: &ContextId, hash: ContentHash) -> Path {
    MANIFESTS.at(&[context.as_str(), &hash.to_string()])
}

/// The hash of the manifest that lies at a path.
pub(crate) fn hash_of_manifest(path: &Path) -> Option<ContentHash> {
    MANIFESTS.key(path, "hash")?.parse().ok()
}

/// The folder of all lanes of all contexts.
pub(crate) fn all_lanes() -> Prefix {
    LANES.below(&[])
}

/// The context whose lane lies at a path.
pub(crate) fn context_of_lane(path: &Path) -> Option<ContextId> {
    ContextId::new(LANES.key(path, "context")?).ok()
}

pub(crate) fn lanes(context: &ContextId) -> Prefix {
    LANES.below(&[context.as_str()])
}

pub(crate) fn lane(context: &ContextId, cluster: &ClusterId) -> Path {
    LANES.at(&[context.as_str(), cluster.provider.as_str(), cluster.cluster.as_str()])
}

/// The folder of all results of all contexts.
pub(crate) fn all_results() -> Prefix {
    RESULTS.below(&[])
}

pub(crate) fn results(context: &ContextId) -> Prefix {
    RESULTS.below(&[context.as_str()])
}

pub(crate) fn results_on(context: &ContextId, cluster: &ClusterId) -> Prefix {
    let (provider, cluster) = (cluster.provider.as_str(), cluster.cluster.as_str());
    RESULTS.below(&[context.as_str(), provider, cluster])
}

pub(crate) fn result(context: &ContextId, cluster: &ClusterId, request: &str) -> Path {
    let digits = ContentHash::of_bytes(request.as_bytes()).short(REQUEST_DIGITS);
    RESULTS.at(&[context.as_str(), cluster.provider.as_str(), cluster.cluster.as_str(), &digits])
}

pub(crate) fn claim(cluster: &ClusterId, namespace: &str) -> Path {
    CLAIMS.at(&[cluster.provider.as_str(), cluster.cluster.as_str(), namespace])
}

pub(crate) fn claiming(context: &ContextId) -> Path {
    CLAIMING.at(&[context.as_str()])
}

/// True for the path of a claim.
pub(crate) fn is_claim(path: &Path) -> bool {
    CLAIMS.keys_of(path).is_some()
}

/// The folder of a cluster's claims.
#[cfg(feature = "sim")]
pub(crate) fn claims(cluster: &ClusterId) -> Path {
    CLAIMS.at(&[cluster.provider.as_str(), cluster.cluster.as_str()])
}

/// The folder of all shards.
pub(crate) fn shards() -> Prefix {
    SHARDS.below(&[])
}

pub(crate) fn shard(cluster: &ClusterId) -> Path {
    SHARDS.at(&[cluster.provider.as_str(), cluster.cluster.as_str()])
}

/// The folder of all claims on clusters.
pub(crate) fn identities() -> Prefix {
    IDENTITIES.below(&[])
}

/// A cluster reports its own UID, so the UID may be any text.
pub(crate) fn identity(uid: &ClusterUid) -> Path {
    IDENTITIES.at(&[&ContentHash::of_bytes(uid.0.as_bytes()).short(IDENTITY_DIGITS)])
}

pub(crate) fn forgotten() -> Path {
    FORGOTTEN.at(&[])
}

pub(crate) fn proofs() -> Path {
    PROOFS.at(&[])
}

/// The folder of all workers.
pub(crate) fn workers() -> Prefix {
    WORKERS.below(&[])
}

pub(crate) fn worker(worker: &WorkerId) -> Path {
    WORKERS.at(&[worker.as_str()])
}

/// The worker whose session lies at a path.
pub(crate) fn worker_of(path: &Path) -> Option<WorkerId> {
    WORKERS.key(path, "worker").map(WorkerId::of)
}

/// The room that a path lies in.
pub(crate) fn room_of(path: &Path) -> Option<Room> {
    ROOMS.into_iter().find(|room| room.contains(path))
}

/// The app context that a record's path names.
pub(crate) fn context_of(path: &Path) -> Option<ContextId> {
    let room = ROOMS.iter().find(|room| room.keys_of(path).is_some())?;
    ContextId::new(room.key(path, "context")?).ok()
}

/// The cluster that a record's path names.
pub(crate) fn cluster_of(path: &Path) -> Option<ClusterId> {
    let room = ROOMS.iter().find(|room| room.keys_of(path).is_some())?;
    ClusterId::new(room.key(path, "provider")?, room.key(path, "cluster")?).ok()
}
