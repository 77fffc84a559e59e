//! A worker clears what comes late of deleted logical clouds.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{SOON, World, everything, spec};
use dcm_core::app_context::{Action, AppContext, Bundle, Existing, Stage, Step};
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ContextId};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::render::naming::Identity;
use dcm_core::service::SWEEP_INTERVAL;
use dcm_server::serve;
use dcm_sync::sim::cluster_id;
use serde_json::json;
use tokio::sync::oneshot;

/// What somebody hands over late who was about to apply a cloud.
fn late(id: ContextId) -> AppContext {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c"}});
    let action = Action::Apply {
        manifest: Manifest::new(body).unwrap(),
        existing: Existing::default(),
        drift: Default::default(),
    };
    let bundle =
        Bundle::new(vec![Step { app: AppName::new("late").unwrap(), stage: Stage(0), action }]).unwrap();
    let placements = BTreeMap::from([(cluster_id(1), Arc::new(bundle))]);
    AppContext { id, labels: BTreeMap::new(), removal: Default::default(), placements }
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_of_a_deleted_cloud_keeps_its_namespace_for_two_sweeps_at_most() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    world.apply().await;
    let clouds = world.deployment.clouds();
    let cloud = clouds.get(&world.project, &world.cloud).await.unwrap().cloud;
    let id = Identity::of(&cloud).context_id();
    let (deployment, (stop, stopped)) = (world.deployment.clone(), oneshot::channel::<()>());
    let worker = tokio::spawn(async move { serve(&deployment, async { drop(stopped.await) }).await });
    world.done().await;
    world.terminate().await;
    world.done().await;
    clouds.delete(&world.caller, &world.project, &world.cloud).await.unwrap();
    let contexts = world.deployment.contexts();
    contexts.apply(&late(id.clone())).await.unwrap();
    // And what the removal itself takes.
    let limit = 2 * SWEEP_INTERVAL + Duration::from_secs(10);
    let gone = async {
        while contexts.knows(&id).await.unwrap() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(limit, gone).await.unwrap();
    assert_eq!(world.owned(), 0);
    stop.send(()).unwrap();
    tokio::time::timeout(SOON, worker).await.unwrap().unwrap().unwrap();
}
