//! Another orchestrator hands its own app context to the engine: any manifests, no logical cloud. `dcm-sync` and
//! `dcm-core` without its default features are all that it takes.
//!
//! `cargo run -p dcm-examples --bin foreign_orchestrator`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use dcm_core::port::synchronizer::Condition;
use dcm_sync::planning::Rehearsing;
use dcm_sync::prelude::*;
use serde_json::json;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let fleet = Fleet::simulated(3);
    let store = dcm_store::open("memory:").await?;
    let engine = Engine::builder(store, fleet.clone()).owner("orchestrator".parse()?).spawn();
    let contexts = engine.contexts();

    // Two clusters share a bundle; a third one gets another.
    let context = AppContext::new("web-1".parse()?)
        .place([&cluster_id(1), &cluster_id(2)], greeting("hello")?)
        .place([&cluster_id(3)], greeting("bonjour")?);
    let generation = contexts.apply(&context).await?;
    let status = contexts.wait_until_done(&context.id).await?;
    println!("generation {generation}: {:?}", status.progress);
    for (cluster, lane) in &status.lanes {
        println!("{cluster}: {:?}, {} objects", lane.state, lane.objects.len());
    }

    // One cluster less: the others are not touched. That is seen before, and then it is done so or not at all.
    let mut smaller = context.clone();
    smaller.placements.remove(&cluster_id(3));
    let planned = engine.planner().plan_one(smaller, Rehearsing::Writes).await?;
    for (cluster, live) in &planned.clusters {
        println!("{cluster}: {} steps", live.as_ref().map_or(0, |live| live.plan.steps().len()));
    }
    let condition = Condition::AsPlanned(planned.state());
    let generation = contexts.apply_on(&planned.context, &condition).await?;
    contexts.wait_until_done(&context.id).await?;
    println!("generation {generation}: {} clusters hold it", count(&fleet));

    contexts.remove(&context.id, Removal::default()).await?;
    contexts.wait_until_done(&context.id).await?;
    println!("removed: {} clusters hold it", count(&fleet));
    contexts.forget(&context.id).await?;
    engine.shutdown().await;
    Ok(())
}

/// A namespace, and when it is there a ConfigMap in it.
fn greeting(text: &str) -> anyhow::Result<Bundle> {
    let metadata = json!({"name": "greeting", "namespace": "web"});
    let bundle = Bundle::builder("web".parse()?)
        .object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}))
        .then()
        .object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}),
        );
    Ok(bundle.build()?)
}

/// How many clusters hold anything of ours, by their own word.
fn count(fleet: &Fleet) -> usize {
    let holds = |cluster: &dcm_sync::sim::SimCluster| {
        cluster.server(|server| server.objects().any(|object| object.marks.is_some()))
    };
    fleet.ids().filter_map(|id| fleet.cluster(id)).filter(|cluster| holds(cluster)).count()
}
