//! What is asked of a store: to instantiate a cloud, when one lane changes, and to tell how far a cloud is.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dcm_benches::cloud::Cloud;
use dcm_benches::size::Size;
use dcm_core::app_context::{AppContext, Generation};
use dcm_core::name::{ClusterId, ContextId, OwnerId};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{Call, Clusters as _, Fence, Object, Precondition};
use dcm_core::port::store::{BATCH_BYTES_MAX, BATCH_WRITES_MAX};
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::Progress;
use dcm_sync::Contexts;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::{Fleet, Settings, SimCluster, cluster_id};
use dcm_testenv::effort::patience;
use tokio::time::{Instant, sleep};

use super::clouds;
use super::counted::{Asked, Counted};
use super::places::{Backend, Places};
use super::wire;

/// Numbers of clusters.
const SIZES: [u32; 3] = [1, 10, 100];

/// From how many clusters a cloud is taken again at most: what that costs a lane is the same with more.
const REMOVED_MAX: u32 = 10;

/// A lease that is not renewed while anything is measured: signs of life are no change of a lane.
const LEASE: Duration = Duration::from_secs(3600);

/// A worker that asked for nothing for so long has nothing to do.
const QUIET: Duration = Duration::from_millis(300);

/// How long a namespace takes to go; for real some seconds, which would change nothing here.
const NAMESPACE_DELETION: Duration = Duration::from_millis(100);

/// How often it is looked whether something is so.
const POLL: Duration = Duration::from_millis(5);

/// What the one cluster is on which something changes.
const CHANGED: usize = 1;

/// What one number of clusters costs with one backend.
pub(crate) struct Costs {
    pub(crate) clusters: u32,
    /// From a document to an app context: `put` and `apply` of logical clouds.
    pub(crate) cloud: clouds::Costs,
    /// Handing an app context over: claims, manifests, and the root.
    pub(crate) instantiate: Asked,
    /// The same as the server counted it, where it does.
    pub(crate) wire: Option<u64>,
    /// Most requests that may write it.
    pub(crate) writes_max: u64,
    /// What a worker asks for that is started, and brings all lanes about.
    pub(crate) work: Asked,
    /// What it asks for when somebody deletes an object of one lane, until that is there again.
    pub(crate) change: Asked,
    /// What of that is about other lanes.
    pub(crate) other_lanes: usize,
    /// What the worker asks for when a permission of the cloud is edited, and that is applied on all clusters.
    pub(crate) edit: Asked,
    /// The status of the whole.
    pub(crate) status: Asked,
    /// What the worker asks for when the cloud is taken off all clusters, where those are few.
    pub(crate) removal: Option<Asked>,
}

/// Measures all sizes with one backend, each in a store of its own.
pub(crate) async fn run(places: &Places, backend: Backend, size: Size) -> Result<Vec<Costs>> {
    let mut costs = Vec::new();
    for &clusters in size.of(&SIZES[..], &SIZES[..1]) {
        eprintln!("requests to {}, {clusters} clusters", backend.name());
        costs.push(measure(places, backend, clusters).await?);
    }
    Ok(costs)
}

async fn measure(places: &Places, backend: Backend, clusters: u32) -> Result<Costs> {
    let scene = Scene::open(places, backend, clusters).await?;
    let etcd = (backend == Backend::Etcd).then_some(&places.etcd);
    let before = etcd.map(wire::requests).transpose()?;
    let instantiate = scene.instantiate().await?;
    let wire = match etcd.zip(before) {
        Some((etcd, before)) => Some(wire::requests(etcd)? - before),
        None => None,
    };
    let engine = scene.engine();
    scene.settle().await?;
    let work = scene.worker.take();
    let cluster = cluster_id(CHANGED);
    scene.disturb(&cluster).await?;
    let change = scene.worker.take();
    let edit = scene.edit().await?;
    let status = scene.status().await?;
    let removal = match clusters {
        ..=REMOVED_MAX => Some(scene.remove().await?),
        _ => None,
    };
    engine.shutdown().await;
    Ok(Costs {
        clusters,
        cloud: clouds::instantiate(places, backend, clusters).await?,
        writes_max: writes_max(&instantiate),
        instantiate,
        wire,
        work,
        other_lanes: change.other_lanes(&cluster),
        change,
        edit,
        status,
        removal,
    })
}

/// As many batches as the documents fill, and two more.
fn writes_max(asked: &Asked) -> u64 {
    let batches_of = |amount: u64, most: usize| amount.div_ceil(most as u64);
    let documents = batches_of(asked.documents_written() as u64, BATCH_WRITES_MAX);
    documents.max(batches_of(asked.bytes_written, BATCH_BYTES_MAX)) + 2
}

/// An app context over simulated clusters. Whoever asks for it and whoever brings it about are counted each alone.
struct Scene {
    clock: Arc<dyn Clock>,
    fleet: Arc<Fleet>,
    caller: Counted,
    worker: Counted,
    cloud: Cloud,
    context: AppContext,
}

impl Scene {
    async fn open(places: &Places, backend: Backend, clusters: u32) -> Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let store = places.open(backend, &format!("requests-{clusters}")).await?;
        let settings = Settings { namespace_deletion: NAMESPACE_DELETION, ..Settings::default() };
        let fleet = Fleet::builder(clock.clone()).clusters(clusters as usize).settings(settings).build();
        let cloud = Cloud::new("bench-store")?;
        let context = cloud.app_context(fleet.ids().cloned())?;
        Ok(Self {
            clock,
            fleet: Arc::new(fleet),
            caller: Counted::over(store.clone(), &places.keys),
            worker: Counted::over(store, &places.keys),
            cloud,
            context,
        })
    }

    fn id(&self) -> &ContextId {
        &self.context.id
    }

    fn contexts(&self) -> Contexts {
        Contexts::new(self.caller.store.clone(), self.clock.clone())
    }

    async fn instantiate(&self) -> Result<Asked> {
        self.contexts().apply(&self.context).await?;
        Ok(self.caller.take())
    }

    fn engine(&self) -> Engine {
        let options = Options {
            lease: LEASE,
            writes_per_second: u32::MAX,
            writes_burst: u32::MAX,
            ..Options::default()
        };
        Engine::builder(self.worker.store.clone(), self.fleet.clone()).options(options).spawn()
    }

    /// Waits until all is done and cleared away, and the worker asks for nothing more.
    async fn settle(&self) -> Result<()> {
        let status = self.contexts().wait_until_done(self.id()).await?;
        ensure!(status.progress == Progress::Done, "{status:#?}");
        self.contexts().wait_until_tidy(self.id()).await?;
        self.quiet().await
    }

    async fn quiet(&self) -> Result<()> {
        let began = Instant::now();
        let (mut calls, mut since) = (self.worker.calls(), began);
        while since.elapsed() < QUIET {
            ensure!(began.elapsed() < patience(), "the worker goes on and on");
            sleep(POLL).await;
            if self.worker.calls() != calls {
                (calls, since) = (self.worker.calls(), Instant::now());
            }
        }
        Ok(())
    }

    /// Deletes a role on a cluster, and waits until another one has taken its place and that is stored.
    async fn disturb(&self, cluster: &ClusterId) -> Result<()> {
        let there = self.fleet.cluster(cluster).context("the first cluster")?;
        let found = role(there).context("a role that was made")?;
        let call = Call {
            owner: OwnerId::new("somebody")?,
            context: None,
            generation: Generation::default(),
            fence: Fence::default(),
        };
        let observed =
            Precondition { uid: found.uid.clone(), resource_version: found.resource_version.clone() };
        let client = self.fleet.connect(cluster).await?;
        client.delete(&call, &found.kind, &found.key, &observed).await?;
        let began = Instant::now();
        while role(there).is_none_or(|role| role.uid == found.uid) {
            ensure!(began.elapsed() < patience(), "{} is not made again", found.key);
            sleep(POLL).await;
        }
        self.settle().await
    }

    /// Applies the cloud with another permission, and waits until all clusters have that.
    async fn edit(&self) -> Result<Asked> {
        let edited = self.cloud.with_one_permission_changed()?.app_context(self.fleet.ids().cloned())?;
        self.contexts().apply(&edited).await?;
        self.settle().await?;
        Ok(self.worker.take())
    }

    async fn status(&self) -> Result<Asked> {
        self.caller.take();
        let status = self.contexts().status(self.id()).await?.context("it is known")?;
        ensure!(status.lanes.len() == self.context.placements.len(), "a lane for each cluster");
        Ok(self.caller.take())
    }

    async fn remove(&self) -> Result<Asked> {
        self.worker.take();
        self.contexts().remove(self.id(), Removal::default()).await?;
        self.settle().await?;
        Ok(self.worker.take())
    }
}

/// The first role by name.
fn role(cluster: &SimCluster) -> Option<Object> {
    cluster.server(|server| {
        let roles = server.objects().filter(|object| &*object.kind.kind == "Role");
        roles.min_by(|one, other| one.key.cmp(&other.key))
    })
}
