//! The engine that is measured, in a process of its own.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use async_trait::async_trait;
use dcm_benches::child;
use dcm_benches::cloud::Cloud;
use dcm_benches::usage;
use dcm_core::app_context::AppContext;
use dcm_core::name::{ClusterId, OwnerId};
use dcm_core::port::cluster::Error;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::secret::Secret;
use dcm_core::status::Progress;
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeClusters, Kubeconfigs};
use dcm_store::MemoryStore;
use dcm_sync::engine::{Engine, Options};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::heavy::{Large, Tenant};

/// What one process is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Its owner, and the beginning of its clouds' names.
    pub(crate) name: String,
    /// The kubeconfigs of the clusters that do not forge.
    pub(crate) kubeconfigs: BTreeMap<ClusterId, String>,
    /// The kubeconfig of the one that forges.
    pub(crate) forger: Option<String>,
    /// The clouds that the others get.
    pub(crate) clouds: usize,
    /// For how long it runs on then, with the changes of large objects.
    pub(crate) rest: Duration,
    /// Whether the forging cluster is read as fast as it answers.
    pub(crate) is_unlimited: bool,
    /// What another tenant has of large objects, which change meanwhile; none: nothing.
    pub(crate) large: Option<Large>,
}

/// What was measured.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// How long the other clusters took.
    pub(crate) took: Duration,
    /// The most memory of the process.
    pub(crate) peak_bytes: u64,
    /// The longest step of the engine's loop.
    pub(crate) longest_step: Duration,
}

struct Known(BTreeMap<ClusterId, Secret>);

#[async_trait]
impl Kubeconfigs for Known {
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error> {
        let known = self.0.get(cluster).cloned();
        known.ok_or_else(|| Error::Kubeconfig { reason: format!("there is no cluster {cluster}") })
    }
}

pub(crate) async fn child(order: &str) -> Result<Infallible> {
    let order: Order = serde_json::from_str(order)?;
    child::answer(&measure(&order).await?)
}

/// How long after one change of a large object comes the next.
const TOUCH_INTERVAL: Duration = Duration::from_secs(1);

/// What leads to the forging cluster.
fn forging() -> Result<ClusterId> {
    Ok("forged/one".parse()?)
}

async fn measure(order: &Order) -> Result<Measured> {
    let engine = start(order)?;
    if order.forger.is_some() {
        let context = Cloud::new(&format!("{}-forged", order.name))?.app_context([forging()?])?;
        engine.contexts().apply(&context).await?;
        until_asked(&engine).await?;
    }
    let tenant = Tenant::new(&engine, &order.name, &order.kubeconfigs, order.large).await?;
    let clouds = (0..order.clouds).map(|number| {
        let cloud = Cloud::new(&format!("{}-{number}", order.name))?;
        cloud.app_context(order.kubeconfigs.keys().cloned())
    });
    let clouds = clouds.collect::<Result<Vec<_>>>()?;
    let made = async {
        let begun = Instant::now();
        try_join_all(clouds.iter().map(|context| instantiate(&engine, context))).await?;
        let took = begun.elapsed();
        tokio::time::sleep(order.rest).await;
        anyhow::Ok(took)
    };
    let took = tokio::select! {
        took = made => took?,
        never = touch_on(&tenant) => match never? {},
    };
    let longest_step = engine.metrics().await.unwrap_or_default().longest_step;
    Ok(Measured { took, peak_bytes: usage::peak_resident_bytes()?, longest_step })
}

/// Changes a large object again and again.
async fn touch_on(tenant: &Tenant) -> Result<Infallible> {
    let mut interval = tokio::time::interval(TOUCH_INTERVAL);
    let mut count = 0;
    loop {
        interval.tick().await;
        tenant.touch(count).await?;
        count += 1;
    }
}

fn start(order: &Order) -> Result<Engine> {
    let mut known: BTreeMap<_, _> =
        order.kubeconfigs.iter().map(|(id, text)| (id.clone(), Secret::new(&**text))).collect();
    if let Some(forger) = &order.forger {
        known.insert(forging()?, Secret::new(&**forger));
    }
    let mut options = dcm_kube::Options {
        allowed: Allowed { insecure: true, ..Allowed::default() },
        ..dcm_kube::Options::default()
    };
    if order.is_unlimited {
        options.cluster_bytes_per_second = u64::MAX;
        options.list_bytes_max = u64::MAX;
    }
    let clusters = KubeClusters::new(Arc::new(Known(known)), options);
    let options = Options {
        owner: OwnerId::new(&order.name)?,
        writes_per_second: u32::MAX,
        writes_burst: u32::MAX,
        ..Options::default()
    };
    Ok(Engine::builder(Arc::new(MemoryStore::new()), Arc::new(clusters)).options(options).spawn())
}

/// Waits until the forging cluster was asked for lists.
async fn until_asked(engine: &Engine) -> Result<()> {
    let id = forging()?;
    for _ in 0..600 {
        let metrics = engine.metrics().await.unwrap_or_default();
        let asked = metrics.requests.get(&id).into_iter().flatten();
        if asked.filter(|((verb, _), _)| verb.as_str() == "watch").count() > 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("the forging cluster is not asked")
}

pub(crate) async fn instantiate(engine: &Engine, context: &AppContext) -> Result<()> {
    let synchronizer = engine.contexts();
    synchronizer.apply(context).await?;
    let status = synchronizer.wait_until_done(&context.id).await?;
    ensure!(status.progress == Progress::Done, "{status:#?}");
    Ok(())
}
