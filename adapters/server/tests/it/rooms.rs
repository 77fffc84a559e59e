//! What lies where in a store.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;

use crate::common::{World, everything};
use dcm_core::name::UserName;
use dcm_core::port::store::{Path, Prefix, StoreExt as _};
use dcm_server::rooms;
use dcm_sync::engine::Acquire;
use serde_json::json;

/// The room of a path, which has a name for each of its segments.
fn room_of(path: &Path) -> &'static str {
    let rooms = rooms();
    let mut found = rooms.iter().filter(|room| room.contains(path));
    let room = found.next().unwrap_or_else(|| panic!("{path} lies in no room"));
    assert_eq!(found.count(), 0, "{path} lies in two rooms");
    room.name
}

#[tokio::test(start_paused = true)]
async fn every_document_lies_in_a_room_and_has_all_its_keys() {
    let world = World::new(1).await;
    let engine = world.deployment.engine(Acquire::All);
    let mut permission = everything();
    permission["name"] = "all".into();
    let cluster = json!({"provider": "sim", "cluster": "cluster-1"});
    world
        .put(json!({
            "users": [{"name": "ann"}, {"name": "ci", "type": "token"}], "permissions": [permission],
            "quotas": [{"name": "q", "hard": {"pods": 1}}], "clusters": [cluster],
        }))
        .await;
    world.apply().await;
    world.done().await;
    let ann = UserName::new("ann").unwrap();
    let clouds = world.deployment.clouds();
    clouds.kubeconfigs(&world.project, &world.cloud, Some(&ann), None).await.unwrap();
    let entries = world.store.list_all(&Prefix::everything()).await.unwrap();
    let used: BTreeSet<&str> = entries.iter().map(|entry| room_of(&entry.path)).collect();
    for room in ["audit", "parts", "lanes", "results", "claims", "shards", "workers", "credentials"] {
        assert!(used.contains(room), "nothing in {room}: {used:?}");
    }
    engine.shutdown().await;
}
