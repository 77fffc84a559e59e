//! A controller that gives its tenants logical clouds: the library linked in, a store in memory, and simulated clusters
//! in the place of real ones.
//!
//! `cargo run -p dcm-examples --bin embed`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;

use anyhow::Context as _;
use dcm_manager::prelude::*;
use futures::StreamExt as _;
use serde_json::json;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let fleet = Fleet::simulated(2);
    let store = dcm_store::open("memory:").await?;
    let manager = Manager::builder(store, fleet.clone()).owner("my-controller".parse()?).spawn();
    let clouds = manager.clouds();

    // Every call names its caller, and the reason.
    let caller = Caller::new("my-controller").because("tenant shop signed up");
    for (cluster, kubeconfig) in fleet.kubeconfigs() {
        let labels = BTreeMap::from([("tier".to_owned(), "tenants".to_owned())]);
        let registration = Registration { labels, ..Registration::new(cluster, kubeconfig) };
        manager.clusters().add(&caller, registration).await?;
    }
    let (project, cloud) = (ProjectName::new("tenants")?, LogicalCloudName::new("shop")?);
    manager.projects().create(&caller, MetadataDraft::named(&project)).await?;

    // One logical cloud: stored, checked, and applied to the clusters.
    let edited = clouds.put(&caller, &project, draft()?).await?;
    println!("{} has {} users", edited.cloud.name(), edited.cloud.users().len());
    clouds.apply(&caller, &project, &cloud).await?;
    follow(clouds, &project, &cloud).await?;

    // The kubeconfig of its user is secret; here only its size is shown.
    let found = clouds.kubeconfigs(&project, &cloud, None, None).await?;
    let kubeconfig = found.access.for_all_clusters().to_yaml()?;
    println!("kubeconfig for {} clusters, {} bytes", found.access.clusters.len(), kubeconfig.expose().len());

    // And back to nothing.
    clouds.terminate(&caller, &project, &cloud, Removal::default()).await?;
    follow(clouds, &project, &cloud).await?;
    clouds.delete(&caller, &project, &cloud).await?;
    manager.shutdown().await;
    Ok(())
}

/// A real controller takes this from its tenant, and the kubeconfigs of its clusters from where they are kept.
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
            // Waiting does not help any more: a controller would report the causes to its tenant.
            Progress::Stuck => anyhow::bail!("{cloud} can't go on: {:?}", event.context.lanes),
            Progress::Working => {}
        }
    }
    Err(anyhow::anyhow!("the events have ended")).context("the logical cloud was deleted")
}
