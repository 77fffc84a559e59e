//! A controller that gives its tenants logical clouds: the library linked in, a store in memory, and simulated clusters
//! in the place of real ones.
//!
//! `cargo run -p dcm-examples --bin embed`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use dcm_core::logical_cloud::{Draft, MetadataDraft};
use dcm_core::name::{ClusterId, LogicalCloudName, OwnerId, ProjectName};
use dcm_core::pki::SystemKeys;
use dcm_core::port::synchronizer::Removal;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, LogicalClouds, Projects, RegisteredClusters, Registration};
use dcm_core::status::Progress;
use dcm_store::MemoryStore;
use dcm_sync::engine::Engine;
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::Fleet;
use futures::StreamExt as _;
use serde_json::json;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // What a controller has: a clock, a store, clusters, and a name that marks what is its own.
    let clock = Arc::new(TokioClock::new());
    let store = Arc::new(MemoryStore::new());
    let fleet = Arc::new(Fleet::builder(clock.clone()).clusters(2).build());
    let engine = Engine::builder(store.clone(), fleet.clone()).owner(OwnerId::new("my-controller")?).spawn();

    // The use cases, over the same store. Every call says who asks, and why.
    let contexts = Arc::new(engine.contexts().clone());
    let clouds = LogicalClouds::new(
        store.clone(),
        contexts.clone(),
        Arc::new(SystemKeys),
        clock.clone(),
        Arc::new(OsRandom),
    );
    let registered = RegisteredClusters::new(store.clone(), contexts, clock.clone(), Arc::new(|_| Ok(())));
    let caller = Caller::new("my-controller").because("tenant shop signed up");
    for id in fleet.ids() {
        registered.add(&caller, registration(id)).await?;
    }
    let (project, cloud) = (ProjectName::new("tenants")?, LogicalCloudName::new("shop")?);
    let metadata = MetadataDraft { name: project.to_string(), ..MetadataDraft::default() };
    Projects::new(store, clock).create(&caller, metadata).await?;

    // One logical cloud: written down, checked, and brought to the clusters.
    let edited = clouds.put(&caller, &project, draft()?).await?;
    println!("{} has {} users", edited.cloud.name(), edited.cloud.users().len());
    clouds.apply(&caller, &project, &cloud).await?;
    follow(&clouds, &project, &cloud).await?;

    // What its user works with. The text is secret; here only its size is shown.
    let found = clouds.kubeconfigs(&project, &cloud, None, None).await?;
    let kubeconfig = found.access.for_all_clusters().to_yaml()?;
    println!("kubeconfig for {} clusters, {} bytes", found.access.clusters.len(), kubeconfig.expose().len());

    // And back to nothing.
    clouds.terminate(&caller, &project, &cloud, Removal::default()).await?;
    follow(&clouds, &project, &cloud).await?;
    clouds.delete(&caller, &project, &cloud).await?;
    engine.shutdown().await;
    Ok(())
}

/// A real controller takes this from its tenant, and its clusters' kubeconfigs from wherever they are kept.
fn draft() -> anyhow::Result<Draft> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": "shop"},
        "spec": {
            "users": [{"name": "developer"}],
            "permissions": [{"name": "work", "apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["*"]}],
            "quotas": [{"name": "compute", "hard": {"limits.cpu": 4, "limits.memory": "8Gi"}}],
            "clusterSelector": {"matchLabels": {"tier": "tenants"}},
        },
    }))?)
}

fn registration(id: &ClusterId) -> Registration {
    let server = format!("https://{}.invalid", id.cluster);
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
    });
    Registration {
        labels: BTreeMap::from([("tier".to_owned(), "tenants".to_owned())]),
        ..Registration::new(id.clone(), Secret::new(kubeconfig.to_string()))
    }
}

/// Shows each change until the work is done.
async fn follow(
    clouds: &LogicalClouds,
    project: &ProjectName,
    cloud: &LogicalCloudName,
) -> anyhow::Result<()> {
    let mut events = clouds.watch(project, cloud).await?;
    while let Some(event) = events.next().await {
        let event = event?;
        println!("{cloud}: {} on {} clusters", event.state, event.context.lanes.len());
        match event.context.progress {
            Progress::Done => return Ok(()),
            // A controller would tell its tenant what each cluster says: waiting does not help any more.
            Progress::Stuck => anyhow::bail!("{cloud} can't go on: {:?}", event.context.lanes),
            Progress::Working => {}
        }
    }
    Err(anyhow::anyhow!("nothing follows any more")).context("the logical cloud was deleted")
}
