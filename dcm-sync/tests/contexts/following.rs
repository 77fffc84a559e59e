//! Following a context.

use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::Intent;
use futures::StreamExt as _;

use crate::support::{World, context, id};

#[tokio::test]
async fn a_stream_goes_on_over_a_lost_watch_and_ends_when_the_context_is_forgotten() {
    let world = World::new(true);
    world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
    let mut statuses = world.contexts.watch(&id()).await.unwrap();
    for intent in [Intent::Present, Intent::Absent, Intent::Present, Intent::Absent] {
        match intent {
            Intent::Present => world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap(),
            Intent::Absent => world.contexts.remove(&id(), Removal::default()).await.unwrap(),
        };
        while statuses.next().await.expect("the context is still there").unwrap().intent != intent {}
        world.store.lose_watches();
    }
    world.store.lose_watches();
    world.contexts.forget(&id()).await.unwrap();
    while let Some(status) = statuses.next().await {
        assert_eq!(status.unwrap().intent, Intent::Absent);
    }
}
