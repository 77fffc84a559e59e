//! Many simulated clusters. A cluster is made when it is first asked for, and has no task of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::name::ClusterId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{Cluster, Clusters, Error};
use dcm_core::secret::Secret;
use serde_json::json;

use super::Seeded;
use super::cluster::SimCluster;
use super::server::{Server, Settings};
use super::signer::Signer;
use super::site::{Latency, Plan, Site};
use super::witness::Witness;

/// Provider of the clusters that are only counted: `sim/cluster-1` and so on.
const PROVIDER: &str = "sim";

/// Longest time that a call takes: the default of an API client.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Makes the signer of a cluster.
type Signers = Arc<dyn Fn(&ClusterId) -> Option<Arc<dyn Signer>> + Send + Sync>;

/// The name of a counted cluster: the first is `sim/cluster-1`.
///
/// # Panics
/// Never: the name follows the rule.
#[must_use]
pub fn cluster_id(number: usize) -> ClusterId {
    match ClusterId::new(PROVIDER, format!("cluster-{number}")) {
        Ok(id) => id,
        Err(error) => unreachable!("{error}"),
    }
}

/// Describes a fleet.
#[derive(Clone)]
#[must_use]
pub struct FleetBuilder {
    clock: Arc<dyn Clock>,
    clusters: Vec<ClusterId>,
    aliases: BTreeMap<ClusterId, ClusterId>,
    seed: u64,
    latency: Latency,
    time_limit: Duration,
    settings: Settings,
    signers: Signers,
    witness: Option<Arc<dyn Witness>>,
}

impl FleetBuilder {
    /// Adds as many clusters: `sim/cluster-1` and so on.
    pub fn clusters(self, count: usize) -> Self {
        self.named((1..=count).map(cluster_id))
    }

    /// Adds clusters of these names.
    pub fn named(mut self, clusters: impl IntoIterator<Item = ClusterId>) -> Self {
        self.clusters.extend(clusters);
        self
    }

    /// Adds another name of a cluster: both lead to one server. [`Fleet::ids`] does not name it.
    pub fn alias(mut self, name: ClusterId, of: ClusterId) -> Self {
        self.aliases.insert(name, of);
        self
    }

    /// The seed of UIDs, latencies and faults. Default 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How far away the clusters are. Default: no way at all.
    pub fn latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// The longest time that a call takes before it ends with [`Error::TimedOut`]. Default 30 s.
    pub fn time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// How the servers behave.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the signer of certificates on each cluster; with none, requests stay unanswered. Default: an authority of each cluster's own with the
    /// feature `sim-pki`, a [`FakeSigner`](super::FakeSigner) without.
    pub fn signers<F>(mut self, signers: F) -> Self
    where
        F: Fn(&ClusterId) -> Option<Arc<dyn Signer>> + Send + Sync + 'static,
    {
        self.signers = Arc::new(signers);
        self
    }

    /// Sets the witness of all requests that arrive at the servers.
    pub fn witness(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = Some(witness);
        self
    }

    /// The fleet.
    #[must_use]
    pub fn build(self) -> Fleet {
        let clusters = self.clusters.iter().map(|id| (id.clone(), OnceLock::new())).collect();
        Fleet { clusters, settings: Arc::new(self.settings.clone()), plan: self }
    }
}

#[cfg(feature = "sim-pki")]
fn default_signer(cluster: &ClusterId) -> Option<Arc<dyn Signer>> {
    Some(Arc::new(super::Authority::new(&cluster.to_string())))
}

#[cfg(not(feature = "sim-pki"))]
fn default_signer(_: &ClusterId) -> Option<Arc<dyn Signer>> {
    Some(Arc::new(super::FakeSigner::default()))
}

fn kubeconfig(cluster: &ClusterId, authority: Option<String>) -> Secret {
    let server = format!("https://{}.{}.invalid:6443", cluster.cluster, cluster.provider);
    let mut entry = json!({"server": server});
    if let Some(authority) = authority {
        entry["certificate-authority-data"] = STANDARD.encode(authority).into();
    }
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "simulated",
        "contexts": [{"name": "simulated", "context": {"cluster": "simulated", "user": "simulated"}}],
        "clusters": [{"name": "simulated", "cluster": entry}],
        "users": [{"name": "simulated", "user": {}}],
    });
    Secret::new(kubeconfig.to_string())
}

/// Simulated clusters by name.
pub struct Fleet {
    clusters: BTreeMap<ClusterId, OnceLock<SimCluster>>,
    settings: Arc<Settings>,
    plan: FleetBuilder,
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("clusters", &self.clusters.len()).finish_non_exhaustive()
    }
}

impl Fleet {
    /// Begins a fleet that lives in the time of a clock.
    pub fn builder(clock: Arc<dyn Clock>) -> FleetBuilder {
        FleetBuilder {
            clock,
            clusters: Vec::new(),
            aliases: BTreeMap::new(),
            seed: 0,
            latency: Latency::default(),
            time_limit: TIME_LIMIT,
            settings: Settings::default(),
            signers: Arc::new(default_signer),
            witness: None,
        }
    }

    /// Returns so many simulated clusters in the time of the current tokio runtime: `sim/cluster-1` and so on.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn simulated(count: usize) -> Arc<Self> {
        Arc::new(Self::builder(Arc::new(crate::runtime::TokioClock::new())).clusters(count).build())
    }

    /// Returns the name of each cluster with a kubeconfig to register it with. No server answers at its address, which is reserved
    /// for that (`*.invalid`, RFC 6761), and it holds no credential: the fleet itself makes the connections.
    pub fn kubeconfigs(&self) -> impl Iterator<Item = (ClusterId, Secret)> {
        self.ids().map(|id| {
            let authority = self.cluster(id).and_then(|cluster| cluster.server(|server| server.ca_pem()));
            (id.clone(), kubeconfig(id, authority))
        })
    }

    /// The names of its clusters.
    pub fn ids(&self) -> impl Iterator<Item = &ClusterId> {
        self.clusters.keys()
    }

    /// Makes everything happen that is due by now, on all clusters.
    pub(crate) fn advance(&self) {
        self.clusters.values().filter_map(OnceLock::get).for_each(SimCluster::advance);
    }

    /// Returns a cluster, to inspect or disturb it; none for an unknown name.
    #[must_use]
    pub fn cluster(&self, id: &ClusterId) -> Option<&SimCluster> {
        let id = self.plan.aliases.get(id).unwrap_or(id);
        self.clusters.get(id).map(|cluster| cluster.get_or_init(|| self.make(id)))
    }

    fn make(&self, id: &ClusterId) -> SimCluster {
        let name = id.to_string();
        let (plan, clock) = (&self.plan, self.plan.clock.clone());
        // Two sequences, so that what the server draws does not depend on what the way to it draws.
        let server = Seeded::named(plan.seed, &name);
        let way = Seeded::named(!plan.seed, &name);
        let server = Server::new(self.settings.clone(), (plan.signers)(id), server, clock.now());
        SimCluster::new(Site::new(Plan {
            id: id.clone(),
            clock,
            time_limit: plan.time_limit,
            server,
            latency: plan.latency,
            random: way,
            witness: plan.witness.clone(),
        }))
    }
}

#[async_trait]
impl Clusters for Fleet {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error> {
        match self.cluster(cluster) {
            Some(cluster) => Ok(Arc::new(cluster.clone())),
            None => Err(Error::Kubeconfig { reason: format!("there is no simulated cluster {cluster}") }),
        }
    }
}
