//! What is seen of a cluster, and why nothing is.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;

use crate::common::{World, everything, kubeconfig, spec};
use dcm_core::logical_cloud::Level;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::preflight::{InspectError, Needs, Other, Unready};
use dcm_core::secret::Secret;
use dcm_core::service::{Precondition, Registration};
use dcm_server::{Deployment, Installation as _, Parts};
use dcm_store::MemoryStore;
use dcm_store::faults::{Faults, FaultyStore};
use dcm_sync::engine::{Acquire, Options};
use dcm_sync::runtime::OsRandom;
use dcm_sync::sim::{Link, cluster_id};

async fn registration(world: &World) -> Registration {
    world.deployment.registered().get(&cluster_id(1)).await.unwrap().registration
}

fn needs() -> Needs {
    Needs::of_level(Level::Standard)
}

#[tokio::test(start_paused = true)]
async fn another_cluster_than_before_is_not_ready_and_is_the_same_once_it_is_accepted() {
    let world = World::new(1).await;
    let engine = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    world.done().await;
    engine.shutdown().await;
    let registration = registration(&world).await;
    let sound = world.deployment.inspect(&registration, &needs()).await.unwrap();
    assert!(sound.is_ready() && sound.other.is_none(), "{sound:?}");

    let found = world.deployment.contexts().cluster_uid(&cluster_id(1)).await.unwrap().unwrap();
    let known = ClusterUid("of-before".into());
    world.deployment.contexts().accept_cluster(&cluster_id(1), &known).await.unwrap();
    let other = Other { known, found: found.clone() };
    let inspection = world.deployment.inspect(&registration, &needs()).await.unwrap();
    assert!(inspection.findings.is_ready() && !inspection.is_ready(), "{inspection:?}");
    assert_eq!(inspection.must_be_ready(), Err(Unready::Other(other.clone())));
    assert_eq!(world.deployment.identify(&registration).await.unwrap(), (found.clone(), Some(other)));

    world.deployment.contexts().accept_cluster(&cluster_id(1), &found).await.unwrap();
    assert_eq!(world.deployment.identify(&registration).await.unwrap(), (found.clone(), None));

    // The same cluster at another server is ready to be registered, and not to be used.
    let elsewhere = kubeconfig(&serde_json::json!({})).replace("https://", "https://elsewhere.");
    let moved = Registration { kubeconfig: Secret::new(elsewhere), ..registration };
    let inspection = world.deployment.inspect(&moved, &needs()).await.unwrap();
    assert!(inspection.is_moved && !inspection.is_ready() && inspection.must_be_ready().is_ok());
    let (registered, any) = (world.deployment.registered(), Precondition::default());
    let next = |_| moved.clone();
    registered.edit(&world.caller, &cluster_id(1), &any, next).await.unwrap();
    assert!(registered.get(&cluster_id(1)).await.unwrap().is_moved);
    world.deployment.accept(&world.caller, &moved, &found).await.unwrap();
    assert!(world.deployment.inspect(&moved, &needs()).await.unwrap().is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_not_told_as_a_cluster_that_does_not_answer() {
    let world = World::new(1).await;
    let nothing = Faults { unsent: 1000, unanswered: 0, cut_off: 0, lost: 0 };
    let broken = Deployment::over(Parts {
        store: world.store.clone(),
        contexts_store: Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()), 1, nothing)),
        clusters: world.fleet.clone(),
        check: Arc::new(|_| Ok(())),
        engine: Options::default(),
        clock: world.deployment.clock().clone(),
        random: Arc::new(OsRandom),
    });
    let registration = registration(&world).await;
    let failed = broken.inspect(&registration, &needs()).await.unwrap_err();
    assert!(matches!(failed, InspectError::Store(_)) && failed.is_retryable(), "{failed:?}");

    world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Cut);
    let failed = world.deployment.inspect(&registration, &needs()).await.unwrap_err();
    assert!(matches!(failed, InspectError::Cluster(_)) && failed.is_retryable(), "{failed:?}");
}
