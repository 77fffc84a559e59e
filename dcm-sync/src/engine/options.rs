//! What an embedder can set, with the defaults and their reasons.

use std::collections::BTreeSet;
use std::time::Duration;

use dcm_core::name::{ContextId, OwnerId};

/// Which shards a worker takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquire {
    /// Every shard that has a lane, for good: a worker that keeps everything in sync.
    All,
    /// Those with work left for these app contexts, until it is done: a program that waits for its own changes.
    PendingOf(BTreeSet<ContextId>),
}

/// The longest lease: no worker waits longer for another one, whatever that one's session says.
pub const LEASE_MAX: Duration = Duration::from_secs(3600);

/// Settings of an engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Marks what this installation owns on clusters. Default `dcm`.
    pub owner: OwnerId,
    /// Which shards this worker takes. Default: all.
    pub acquire: Acquire,
    /// How long a worker's session lives without a sign of life, at most [`LEASE_MAX`]. Default 10 s: a dead worker's clusters
    /// wait as long.
    pub lease: Duration,
    /// How long one request may take. Default 30 s, half of the API server's own limit for a request.
    pub request_limit: Duration,
    /// How long a request whose answer was lost may still take effect: a removal ends only when that time has passed
    /// and nothing has appeared. Default 30 s.
    pub late_request_limit: Duration,
    /// Writes a second to one cluster, over all its lanes. Default 50.
    pub writes_per_second: u32,
    /// Writes to one cluster at once, before the rate counts. Default 300: about 20 logical clouds.
    pub writes_burst: u32,
    /// Requests under way to one cluster. Default 64.
    pub cluster_requests_max: usize,
    /// Requests under way to all clusters, connections and lists among them; those that hang don't count. Default 1024.
    pub requests_max: usize,
    /// First wait after a failure that may pass; doubled with each further one, with jitter. Default 500 ms.
    pub retry_min: Duration,
    /// Longest wait between two tries. Default 60 s.
    pub retry_max: Duration,
    /// How long an approved certificate may take before the signer is called silent. Default 30 s.
    pub signer_limit: Duration,
    /// How often stored credentials are tried again, as authorities of a cluster may be replaced; at least 1 s. After a lost connection they are
    /// tried soon. A credential that the cluster refuses twice is deleted and requested again. Default 1 h: 14 requests a second at 10,000
    /// clusters with 5 credentials each.
    pub trial_interval: Duration,
    /// How often one object is brought back within [`Self::correction_window`] before it is let be for a while. Default 5:
    /// a person who tries something out is answered each time; a program that answers each of our writes is soon known.
    pub corrections_max: usize,
    /// The time in which corrections of one object count together. Default 10 min: programs that look at their objects
    /// now and then do so every few minutes.
    pub correction_window: Duration,
    /// How long an object is let be the first time, with the other manager's name in the status; doubled each further
    /// time. Default 5 min. An object that is applied again is brought back at once.
    pub contest_wait_min: Duration,
    /// How long an object is let be at most. Default 6 h: some tries a day.
    pub contest_wait_max: Duration,
    /// How often recorded objects are read by name where the cluster refuses to list and watch their kind. Only what is
    /// there already is kept so: to make objects of a kind for the first time, and to remove them, it must be listed.
    /// Default 30 s: a read for each object. Objects of other clients of which parts are edited are read so, too, up to a quarter later.
    pub read_interval: Duration,
    /// Bytes of objects kept of one cluster whose app contexts are not loaded yet. Of what is beyond that only the metadata is
    /// kept, and it is read by its name when its context is loaded. Default 8 MiB: some 1,000 objects.
    pub unread_bytes_max: usize,
    /// Objects known of one cluster whose app contexts are not loaded, or unknown to the store. What is beyond that is not kept
    /// and counted ([`Metrics::objects_unkept`](super::metrics::Metrics::objects_unkept)); its kind is listed again when a context is
    /// loaded. Default 50,000: about 25 MiB.
    pub unknown_objects_max: usize,
    /// Values in objects, and in what is desired of them, that are compared in the engine's loop for one page of a list or one answer. More
    /// of them are compared on another thread ([`Threads`](dcm_core::port::threads::Threads)). Default 1,000: about 1 ms.
    pub compared_values_max: usize,
    /// The safeguard that is taken away, in a test.
    #[cfg(feature = "planted-faults")]
    pub without: Option<super::Safeguard>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            owner: default_owner(),
            acquire: Acquire::All,
            lease: Duration::from_secs(10),
            request_limit: Duration::from_secs(30),
            late_request_limit: Duration::from_secs(30),
            writes_per_second: 50,
            writes_burst: 300,
            cluster_requests_max: 64,
            requests_max: 1024,
            retry_min: Duration::from_millis(500),
            retry_max: Duration::from_secs(60),
            signer_limit: Duration::from_secs(30),
            trial_interval: Duration::from_secs(3600),
            corrections_max: 5,
            correction_window: Duration::from_secs(600),
            contest_wait_min: Duration::from_secs(300),
            contest_wait_max: Duration::from_secs(6 * 3600),
            read_interval: Duration::from_secs(30),
            unread_bytes_max: 8 * 1024 * 1024,
            unknown_objects_max: 50_000,
            compared_values_max: 1_000,
            #[cfg(feature = "planted-faults")]
            without: None,
        }
    }
}

fn default_owner() -> OwnerId {
    OwnerId::new("dcm").unwrap_or_else(|_| unreachable!("the default owner is a DNS label"))
}
