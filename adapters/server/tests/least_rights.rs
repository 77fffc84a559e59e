//! The engine works with the least ClusterRole that the preflight prints, and with nothing less.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::{World, everything, spec};
use dcm_core::logical_cloud::Level;
use dcm_core::preflight::{self, Needs};
use dcm_sync::engine::Acquire;
use dcm_sync::sim::{Identity, Rights, cluster_id};
use serde_json::{Value, json};

/// Gives the engine this ClusterRole on the first cluster, and nothing else.
async fn confine(world: &World, level: Level) {
    let needs = Needs::of_level(level);
    let role = preflight::cluster_role("least", preflight::rules(needs.accesses()));
    world.make(serde_json::to_value(role).unwrap()).await;
    world
        .make(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "least"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "least"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "engine"}],
        }))
        .await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("engine"))));
}

/// From nothing, over a change, to nothing.
async fn live(level: Level, permission: Value) {
    let world = World::new(1).await;
    confine(&world, level).await;
    let engine = world.deployment.engine(Acquire::All);
    world.put(spec(&permission)).await;
    world.apply().await;
    world.done().await;
    let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
    let (call, clock) = (world.deployment.call(), world.deployment.clock());
    let needs = Needs::of_level(level);
    let findings = preflight::check(&*cluster, &call, &needs, &**clock).await.unwrap();
    assert!(findings.is_ready(), "{findings:?}");

    let mut changed = spec(&permission);
    changed["quotas"] = json!([{"name": "other", "hard": {"pods": 1}}]);
    world.put(changed).await;
    world.apply().await;
    world.done().await;
    world.terminate().await;
    world.done().await;
    assert_eq!(world.owned(), 0);
    engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_standard_cloud_lives_and_ends_with_the_least_role_of_its_level() {
    live(Level::Standard, everything()).await;
}

#[tokio::test(start_paused = true)]
async fn a_privileged_cloud_lives_and_ends_with_the_least_role_of_its_level() {
    let mut permission = everything();
    permission["clusterWide"] = true.into();
    live(Level::Privileged, permission).await;
}

#[tokio::test(start_paused = true)]
async fn the_preflight_prints_what_is_missing_and_only_that() {
    let world = World::new(1).await;
    confine(&world, Level::Standard).await;
    let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
    let (call, clock) = (world.deployment.call(), world.deployment.clock());
    let needs = Needs::of_level(Level::Privileged);
    let findings = preflight::check(&*cluster, &call, &needs, &**clock).await.unwrap();
    let resources: Vec<&str> = findings
        .missing
        .iter()
        .flat_map(|rule| rule.resources.iter().flatten())
        .map(String::as_str)
        .collect();
    assert_eq!(resources, ["clusterroles", "clusterrolebindings"]);
    assert!(!findings.is_ready());
}
