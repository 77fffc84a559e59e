//! A worker keeps credentials good, over many of their lives.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::{SOON, World, everything, spec};
use dcm_core::logical_cloud::Serial;
use dcm_core::name::{ReferenceName, UserName};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::render::naming::Identity;
use dcm_core::service::Issuance;
use dcm_server::serve;
use dcm_sync::sim::{Link, cluster_id};
use serde_json::json;
use tokio::time::sleep;

const MINUTE: Duration = Duration::from_secs(60);

/// A cloud whose credentials have the shortest life that there is, on two clusters, and a worker.
async fn served() -> World {
    let world = World::new(2).await;
    let mut spec = spec(&everything());
    for user in spec["users"].as_array_mut().unwrap() {
        user["lifetimeSeconds"] = 600.into();
    }
    spec["clusters"] =
        json!([1, 2].map(|number| json!({"provider": "sim", "cluster": format!("cluster-{number}")})));
    world.put(spec).await;
    world.apply().await;
    let deployment = world.deployment.clone();
    tokio::spawn(async move { serve(&deployment, std::future::pending()).await });
    world.done().await;
    world
}

/// The references for which a user has nothing good now.
async fn missing(world: &World, user: &str) -> BTreeSet<ReferenceName> {
    let (clouds, user) = (world.deployment.clouds(), UserName::new(user).unwrap());
    let access = clouds.kubeconfigs(&world.project, &world.cloud, Some(&user), None).await.unwrap();
    access.missing.into_keys().collect()
}

/// The number of a user's newest credential.
async fn serial(world: &World, user: &str) -> Serial {
    let status = world.deployment.clouds().status(&world.project, &world.cloud).await.unwrap();
    status.credentials[&UserName::new(user).unwrap()].serial
}

#[tokio::test(start_paused = true)]
async fn a_worker_keeps_credentials_good_for_ever_and_leaves_no_old_ones_behind() {
    let world = served().await;
    for _ in 0..120 {
        sleep(MINUTE).await;
        for user in ["ann", "ci"] {
            assert_eq!(missing(&world, user).await, BTreeSet::new(), "{user}");
        }
    }
    for user in ["ann", "ci"] {
        let serial = serial(&world, user).await;
        // Between 400 and 510 seconds each: a twelfth of the life, and the time between two rounds.
        assert!((Serial(14)..=Serial(19)).contains(&serial), "{user} {serial}");
    }
    world.done().await;
    let found = world.deployment.clouds().get(&world.project, &world.cloud).await.unwrap().cloud;
    let results = world.deployment.contexts().results(&Identity::of(&found).context_id()).await.unwrap();
    let kept: Vec<usize> = results.values().map(BTreeMap::len).collect();
    assert_eq!(kept, [2, 2], "one for each user");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_not_reached_holds_up_no_renewal_and_gets_its_own_when_it_is_back() {
    let world = served().await;
    let cluster = world.fleet.cluster(&cluster_id(2)).unwrap();
    cluster.set_link(Link::Cut);
    let cut_off: ReferenceName = "cluster-2".parse().unwrap();
    for minute in 1..=60 {
        sleep(MINUTE).await;
        let missing = missing(&world, "ann").await;
        assert!(missing.iter().all(|reference| *reference == cut_off), "{minute}: {missing:?}");
    }
    assert_eq!(missing(&world, "ann").await, BTreeSet::from([cut_off]));
    let status = world.deployment.clouds().status(&world.project, &world.cloud).await.unwrap();
    let issued = &status.credentials[&UserName::new("ann").unwrap()].clusters[&cluster_id(2)];
    assert!(matches!(issued, Issuance::Missing { .. }), "{issued:?}");
    cluster.set_link(Link::Up);
    sleep(SOON).await;
    assert_eq!(missing(&world, "ann").await, BTreeSet::new());
}
