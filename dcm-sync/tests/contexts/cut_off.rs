//! An apply whose process dies leaves nothing that nobody knows of.

use std::collections::BTreeSet;
use std::pin::pin;

use dcm_core::app_context::{AppContext, Generation};
use dcm_core::name::ContextId;
use dcm_core::port::store::{Entry, Path, Prefix, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Error, Removal, Synchronizer as _};
use futures::future::{Either, select};

use crate::support::{World, context, id, later};

/// More steps than an apply has.
const STEPS: usize = 40;

/// Applies, and dies after so many steps; true when it came to its end before.
async fn apply_and_die(world: &World, wanted: &AppContext, steps: usize) -> bool {
    matches!(select(pin!(world.contexts.apply(wanted)), pin!(later(steps))).await, Either::Left(_))
}

/// The clusters on which the namespace is claimed.
async fn claimed(world: &World) -> BTreeSet<String> {
    let records = world.records().await.into_keys();
    let claims = records.filter_map(|path| path.strip_prefix("claims/sim/").map(str::to_owned));
    claims.map(|claim| claim.trim_end_matches("/team").to_owned()).collect()
}

/// The clusters on which the root holds the namespace, or is about to give it back.
async fn named(world: &World) -> BTreeSet<String> {
    let records = world.records().await;
    let Some(root) = records.get("contexts/lc-1/root") else { return BTreeSet::new() };
    let bundles = root["placements"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|outline| outline["bundles"].as_array().unwrap());
    let placed = bundles.flat_map(|bundle| bundle[1].as_array().unwrap());
    let placed = placed.map(|cluster| cluster.as_str().unwrap().to_owned());
    let leaving = root["leaving"].as_object().into_iter().flatten().map(|(cluster, _)| cluster.clone());
    placed.chain(leaving).map(|cluster| cluster.trim_start_matches("sim/").to_owned()).collect()
}

async fn assert_nothing_is_left(world: &World, steps: usize) {
    let left: Vec<String> = world.records().await.into_keys().filter(|path| path != "forgotten").collect();
    assert_eq!(left, [""; 0], "after {steps} steps");
}

#[tokio::test]
async fn what_it_left_goes_when_the_context_is_forgotten() {
    let mut ended = 0;
    for (steps, atomic_batches) in (0..STEPS).flat_map(|steps| [(steps, true), (steps, false)]) {
        let world = World::new(atomic_batches);
        if apply_and_die(&world, &context(&["a", "b"], 1..=3), steps).await {
            ended += 1;
        }
        match world.contexts.remove(&id(), Removal::default()).await {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        world.contexts.forget(&id()).await.unwrap();
        assert_nothing_is_left(&world, steps).await;
    }
    assert!((1..2 * STEPS).contains(&ended), "{ended}");
}

#[tokio::test]
async fn the_next_apply_holds_what_it_names_and_gives_the_rest_back() {
    for (steps, atomic_batches) in (0..STEPS).flat_map(|steps| [(steps, true), (steps, false)]) {
        for (first, second, third) in [(1..=1, 2..=4, 3..=5), (1..=3, 1..=4, 2..=2)] {
            let world = World::new(atomic_batches);
            world.contexts.apply(&context(&["a"], first)).await.unwrap();
            apply_and_die(&world, &context(&["b"], second), steps).await;
            world.contexts.apply(&context(&["c"], third)).await.unwrap();
            let (claimed, named) = (claimed(&world).await, named(&world).await);
            assert!(
                claimed.is_subset(&named),
                "after {steps} steps: {claimed:?} are claimed, {named:?} are named"
            );
            assert_eq!(world.missing().await, BTreeSet::new());
            world.contexts.remove(&id(), Removal::default()).await.unwrap();
            world.contexts.forget(&id()).await.unwrap();
            assert_nothing_is_left(&world, steps).await;
        }
    }
}

#[tokio::test]
async fn applied_again_or_back_to_what_was_before_it_remembers_and_claims_no_more_than_that() {
    for (steps, atomic_batches) in (0..STEPS).flat_map(|steps| [(steps, true), (steps, false)]) {
        for again in [false, true] {
            let world = World::new(atomic_batches);
            let (before, cut_off) = (context(&["a"], 1..=2), context(&["b"], 2..=4));
            world.contexts.apply(&before).await.unwrap();
            apply_and_die(&world, &cut_off, steps).await;
            world.contexts.apply(if again { &cut_off } else { &before }).await.unwrap();
            let (claimed, named) = (claimed(&world).await, named(&world).await);
            assert!(
                claimed.is_subset(&named),
                "after {steps} steps: {claimed:?} are claimed, {named:?} are named"
            );
            let remembered = world.records().await.into_keys().filter(|path| path.starts_with("claiming"));
            assert_eq!(remembered.collect::<Vec<_>>(), [""; 0], "after {steps} steps");
        }
    }
}

#[tokio::test]
async fn a_claim_of_a_context_that_is_gone_keeps_nobody_from_its_namespace() {
    let world = World::new(false);
    world.contexts.apply(&context(&["a"], 1..=2)).await.unwrap();
    let late: Vec<Entry> = world.store.list_all(&Prefix::below(&Path::new("claims").unwrap())).await.unwrap();
    world.contexts.remove(&id(), Removal::default()).await.unwrap();
    world.contexts.forget(&id()).await.unwrap();
    for Entry { path, document, .. } in late {
        world.store.write_one(Write::Create { path, document }).await.unwrap();
    }
    let other = AppContext { id: ContextId::new("lc-2").unwrap(), ..context(&["a"], 1..=2) };
    world.contexts.apply(&other).await.unwrap();
    let back = world.contexts.apply(&context(&["a"], 1..=2)).await;
    assert!(matches!(back, Err(Error::NamespaceTaken { .. })), "{back:?}");
}

#[tokio::test]
async fn an_apply_that_is_refused_leaves_what_it_had() {
    for atomic_batches in [true, false] {
        let world = World::new(atomic_batches);
        let other = AppContext { id: ContextId::new("lc-2").unwrap(), ..context(&["a"], 3..=3) };
        world.contexts.apply(&other).await.unwrap();
        world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
        let before = world.records().await;
        let refused = world.contexts.apply(&context(&["a"], 1..=4)).await;
        assert!(matches!(refused, Err(Error::NamespaceTaken { .. })), "{refused:?}");
        assert_eq!(world.records().await, before);
    }
}

#[tokio::test]
async fn an_apply_that_is_refused_while_another_one_stood_still_leaves_nothing_to_that_one() {
    for (steps, atomic_batches) in (0..STEPS).flat_map(|steps| [(steps, true), (steps, false)]) {
        let world = World::new(atomic_batches);
        let other = AppContext { id: ContextId::new("lc-2").unwrap(), ..context(&["a"], 3..=3) };
        world.contexts.apply(&other).await.unwrap();
        let before = world.records().await;
        let wanted = context(&["a"], 1..=3);
        let mut stands_still = pin!(world.contexts.apply(&wanted));
        let first = match select(stands_still.as_mut(), pin!(later(steps))).await {
            Either::Left((first, _)) => first,
            Either::Right(_) => {
                let second = world.contexts.apply(&wanted).await;
                assert!(matches!(second, Err(Error::NamespaceTaken { .. })), "{second:?}");
                stands_still.await
            }
        };
        assert!(first.is_err(), "after {steps} steps: {first:?}");
        assert_eq!(world.records().await, before, "after {steps} steps");
    }
}

#[tokio::test]
async fn a_removal_of_what_nobody_has_wanted_yet_gives_it_no_generation() {
    for steps in 0..STEPS {
        let world = World::new(false);
        world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
        world.contexts.remove(&id(), Removal::default()).await.unwrap();
        world.contexts.forget(&id()).await.unwrap();
        apply_and_die(&world, &context(&["b"], 1..=2), steps).await;
        let _ = world.contexts.remove(&id(), Removal { delete_contents: true, ..Removal::default() }).await;
        let applied = world.contexts.apply(&context(&["c"], 1..=2)).await.unwrap();
        assert!(applied > Generation(2), "after {steps} steps: {applied}");
    }
}
