//! How many lanes a second one engine brings about, and how many several do that share the clusters, on one etcd.
//!
//! Each engine has its own connection to etcd, as a process of its own would. A cluster is taken by the engine that is first
//! to claim it when its first cloud comes, so each takes about as many. How many the one with the most has is told: measured is
//! until the last lane is done, and that one is the last.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dcm_benches::cloud::Cloud;
use dcm_benches::size::Size;
use dcm_core::app_context::AppContext;
use dcm_core::name::ClusterId;
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::status::LaneState;
use dcm_store::EncryptedStore;
use dcm_sync::Contexts;
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::{NullFleet, cluster_id};
use dcm_testenv::effort::patience;
use futures::future::{join_all, ready, try_join, try_join_all};
use futures::stream::{StreamExt as _, select_all};
use tokio::time::{Instant, sleep, timeout};

use super::places::{Backend, Places};

/// Numbers of engines.
const ENGINES: [u32; 4] = [1, 2, 4, 8];
const ENGINES_SMALLEST: [u32; 2] = [1, 2];

/// How many clusters they share.
pub(crate) const CLUSTERS: usize = 256;
const CLUSTERS_SMALLEST: usize = 4;

/// How long a cluster takes to answer.
const LATENCY: Duration = Duration::from_millis(50);

/// How many requests an engine may have under way where clusters take their time. That limits one engine, long before this
/// machine does, which has to do for eight of them and for etcd.
const REQUESTS_MAX: usize = 8;

/// How many clouds are made on all clusters at once, where clusters take their time and where they don't.
const CLOUDS_FAR: usize = 1;
const CLOUDS_NEAR: usize = 4;

/// How many engines are compared with one without latency.
const MANY: u32 = 8;

/// How often one and many engines are compared without latency, in turns: both use the whole machine, and so do others.
const ROUNDS: usize = 5;

/// How often it is looked whether something is so.
const POLL: Duration = Duration::from_millis(20);

/// What was measured.
pub(crate) struct Rates {
    /// With latency, for each number of engines.
    pub(crate) far: Vec<Rate>,
    /// Without: one engine and many, for each round.
    pub(crate) near: Vec<[Rate; 2]>,
}

/// How fast so many engines are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) engines: u32,
    pub(crate) lanes_a_second: f64,
    /// How many clusters the engine has that has the most.
    pub(crate) clusters_max: u64,
}

/// What is made.
#[derive(Debug, Clone, Copy)]
struct Load {
    clusters: usize,
    latency: Duration,
    requests_max: usize,
    clouds: usize,
}

pub(crate) async fn run(places: &Places, size: Size) -> Result<Rates> {
    let clusters = size.of(CLUSTERS, CLUSTERS_SMALLEST);
    let far = Load { clusters, latency: LATENCY, requests_max: REQUESTS_MAX, clouds: CLOUDS_FAR };
    let requests_max = Options::default().requests_max;
    let near = Load { clusters, latency: Duration::ZERO, requests_max, clouds: CLOUDS_NEAR };
    let mut rates = Rates { far: Vec::new(), near: Vec::new() };
    for &engines in size.of(&ENGINES[..], &ENGINES_SMALLEST) {
        rates.far.push(measure(places, engines, far, "far").await?);
    }
    for round in 0..size.of(ROUNDS, 1) {
        let place = format!("near-{round}");
        let one = measure(places, 1, near, &place).await?;
        rates.near.push([one, measure(places, size.of(MANY, 2), near, &place).await?]);
    }
    Ok(rates)
}

async fn measure(places: &Places, engines: u32, load: Load, name: &str) -> Result<Rate> {
    let workshop = Workshop::open(places, engines, load, &format!("{name}-{engines}")).await?;
    timeout(patience(), workshop.share_clusters())
        .await
        .context("the first clouds are not done in time")??;
    let held = workshop.clusters_held().await?;
    let lanes_a_second = workshop.make_clouds(load.clouds).await?;
    eprintln!("{engines} engines, {:?}: {lanes_a_second:.0} lanes a second, clusters {held:?}", load.latency);
    timeout(patience(), workshop.close()).await.context("the engines don't stop")?;
    Ok(Rate { engines, lanes_a_second, clusters_max: held.into_iter().max().unwrap_or_default() })
}

/// Engines on one etcd, and who gives them work.
struct Workshop {
    clusters: usize,
    workers: Vec<Engine>,
    contexts: Contexts,
}

impl Workshop {
    /// Starts engines, and waits until each has a session.
    async fn open(places: &Places, engines: u32, load: Load, place: &str) -> Result<Self> {
        let clock = Arc::new(TokioClock::new());
        let store = connect(places, place).await?;
        let contexts = Contexts::new(store, clock.clone());
        let mut workers = Vec::new();
        for _ in 0..engines {
            let fleet = Arc::new(NullFleet::new(clock.clone()).with_latency(load.latency));
            let options = Options {
                requests_max: load.requests_max,
                writes_per_second: u32::MAX,
                writes_burst: u32::MAX,
                ..Options::default()
            };
            let store = connect(places, place).await?;
            workers.push(Engine::builder(store, fleet).options(options).spawn());
        }
        let began = Instant::now();
        while contexts.workers().await?.len() < workers.len() {
            ensure!(began.elapsed() < patience(), "an engine has no session");
            sleep(POLL).await;
        }
        Ok(Self { clusters: load.clusters, workers, contexts })
    }

    /// Brings a cloud to each cluster, one after the other. The engines then have all connections and watches.
    async fn share_clusters(&self) -> Result<()> {
        let mut made = Vec::new();
        for number in 1..=self.clusters {
            let first = app_context(&format!("first-{number}"), [cluster_id(number)])?;
            self.contexts.apply(&first).await?;
            made.push(first.id);
        }
        for id in made {
            self.contexts.wait_until_done(&id).await?;
            self.contexts.wait_until_tidy(&id).await?;
        }
        Ok(())
    }

    /// How many clusters each engine has.
    async fn clusters_held(&self) -> Result<Vec<u64>> {
        let mut held = Vec::new();
        for worker in &self.workers {
            held.push(worker.metrics().await.context("an engine that runs")?.clusters_held);
        }
        ensure!(held.iter().sum::<u64>() == self.clusters as u64, "clusters without an engine: {held:?}");
        Ok(held)
    }

    /// Makes clouds on all clusters, and gives the lanes done a second.
    async fn make_clouds(&self, clouds: usize) -> Result<f64> {
        let names = (0..clouds).map(|number| format!("cloud-{number}"));
        let everywhere = || (1..=self.clusters).map(cluster_id);
        let made = names.map(|name| app_context(&name, everywhere())).collect::<Result<Vec<_>>>()?;
        let events = select_all(self.workers.iter().map(Engine::events));
        let done = events.filter(|event| ready(matches!(event.what, What::Lane(LaneState::Done))));
        let lanes = clouds * self.clusters;
        let (began, limit) = (Instant::now(), patience());
        let applied = try_join_all(made.iter().map(|cloud| self.contexts.apply(cloud)));
        let counted = async { Ok(timeout(limit, done.take(lanes).count()).await) };
        let (_, counted) = try_join(applied, counted).await?;
        let took = began.elapsed();
        ensure!(counted.is_ok_and(|done| done == lanes), "the lanes are not done within {limit:?}");
        Ok(lanes as f64 / took.as_secs_f64())
    }

    async fn close(self) {
        join_all(self.workers.iter().map(Engine::shutdown)).await;
    }
}

/// A connection of its own.
async fn connect(places: &Places, place: &str) -> Result<Arc<dyn Store>> {
    let store = places.open(Backend::Etcd, place).await?;
    Ok(Arc::new(EncryptedStore::with_keys(store, places.keys.clone())))
}

fn app_context(name: &str, clusters: impl IntoIterator<Item = ClusterId>) -> Result<AppContext> {
    Cloud::new(name)?.app_context(clusters)
}
