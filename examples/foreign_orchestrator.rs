//! Another orchestrator hands its own app context to the engine: any manifests, no logical cloud. `dcm-sync` and
//! `dcm-core` without its default features are all that it takes.
//!
//! `cargo run -p dcm-examples --bin foreign_orchestrator`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::app_context::{Action, AppContext, Bundle, Drift, Existing, Stage, Step};
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ContextId, OwnerId};
use dcm_core::port::synchronizer::{Condition, Removal, Synchronizer as _};
use dcm_store::MemoryStore;
use dcm_sync::engine::Engine;
use dcm_sync::planning::Rehearsing;
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::{Fleet, cluster_id};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let fleet = Arc::new(Fleet::builder(Arc::new(TokioClock::new())).clusters(3).build());
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::builder(store, fleet.clone()).owner(OwnerId::new("orchestrator")?).spawn();
    let contexts = engine.contexts();

    let context = context()?;
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

/// Two clusters share a bundle; a third one gets another.
fn context() -> anyhow::Result<AppContext> {
    let metadata = json!({"name": "greeting", "namespace": "web"});
    let greeting = |text: &str| {
        bundle([
            (0, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}})),
            (
                1,
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}),
            ),
        ])
    };
    let (many, one) = (Arc::new(greeting("hello")?), Arc::new(greeting("bonjour")?));
    let placements = [(cluster_id(1), many.clone()), (cluster_id(2), many), (cluster_id(3), one)];
    Ok(AppContext {
        id: ContextId::new("web-1")?,
        labels: BTreeMap::new(),
        removal: Removal::default(),
        placements: placements.into(),
    })
}

/// Steps of one app; all of a stage are done before the next begins.
fn bundle(objects: impl IntoIterator<Item = (u16, Value)>) -> anyhow::Result<Bundle> {
    let app = AppName::new("web")?;
    let step = |(stage, body)| -> anyhow::Result<Step> {
        let action = Action::Apply {
            manifest: Manifest::new(body)?,
            existing: Existing::Refuse,
            drift: Drift::default(),
        };
        Ok(Step { app: app.clone(), stage: Stage(stage), action })
    };
    Ok(Bundle::new(objects.into_iter().map(step).collect::<anyhow::Result<_>>()?)?)
}

/// How many clusters hold anything of ours, by their own word.
fn count(fleet: &Fleet) -> usize {
    let holds = |cluster: &dcm_sync::sim::SimCluster| {
        cluster.server(|server| server.objects().any(|object| object.marks.is_some()))
    };
    fleet.ids().filter_map(|id| fleet.cluster(id)).filter(|cluster| holds(cluster)).count()
}
