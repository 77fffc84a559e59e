//! The same use cases with the engine's own records behind the synchronizer, in the same store.

use std::sync::Arc;

use dcm_core::port::synchronizer::STOP_LIMIT;
use dcm_core::service::{ApplyOutcome, Error};
use dcm_core::status::LaneState;
use dcm_store::MemoryStore;
use dcm_sync::Contexts;
use futures::StreamExt as _;

use crate::service::support::{Dying, Engine, FixedClock, World, cluster, draft, name};

async fn world(atomic_batches: bool) -> World {
    let memory = Arc::new(MemoryStore::builder().atomic_batches(atomic_batches).build());
    let contexts = Arc::new(Contexts::new(memory.clone(), Arc::new(FixedClock::new())));
    let world = World::with(Arc::new(Dying::new(memory)), Arc::new(Engine::new()), contexts);
    world.furnish().await;
    world
}

#[tokio::test]
async fn a_life_without_a_worker_leaves_nothing_in_the_store() {
    for atomic_batches in [true, false] {
        let world = world(atomic_batches).await;
        let before = world.documents().await;
        world.put(draft()).await.unwrap();
        let followed = world.clouds.watch(&world.project, &name("shop")).await;
        assert!(matches!(followed, Err(Error::NotApplied { .. })), "there is nothing to follow yet");
        world.apply("shop").await.unwrap();
        assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Unchanged);
        assert_eq!(world.state("shop").await, "instantiating");
        let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
        assert_eq!(status.clusters[&cluster("one")].lane.as_ref().unwrap().state, LaneState::Pending);
        let mut events = world.clouds.watch(&world.project, &name("shop")).await.unwrap();
        assert_eq!(events.next().await.unwrap().unwrap().state.to_string(), "instantiating");
        world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await.unwrap();
        assert_eq!(world.state("shop").await, "stopped while instantiating");
        world.apply("shop").await.unwrap();
        assert_eq!(world.state("shop").await, "instantiating", "an apply ends a pause");
        world.terminate("shop").await.unwrap();
        assert_eq!(world.state("shop").await, "terminated", "no cluster was touched");
        world.delete("shop").await.unwrap();
        let mut left = world.documents().await;
        assert!(left.remove("forgotten").is_some(), "how far its generations went");
        assert_eq!(left, before);
    }
}

#[tokio::test]
async fn the_winner_of_a_namespace_is_named_and_gives_it_back() {
    let world = world(false).await;
    let mut rival = draft();
    rival["metadata"]["name"] = "rival".into();
    world.put(draft()).await.unwrap();
    world.put(rival).await.unwrap();
    world.apply("shop").await.unwrap();
    let error = world.apply("rival").await.unwrap_err();
    assert!(matches!(error, Error::NamespaceTaken { .. }));
    assert!(error.to_string().ends_with("belongs to logical cloud shop of project retail"), "{error}");
    world.terminate("shop").await.unwrap();
    world.delete("shop").await.unwrap();
    assert_eq!(world.apply("rival").await.unwrap().outcome, ApplyOutcome::Begun);
}
