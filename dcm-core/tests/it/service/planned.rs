//! Applies that are bound to what was planned.

use std::collections::BTreeMap;

use dcm_core::app_context::Generation;
use dcm_core::port::synchronizer::{Condition, Error as Failure, PlannedState};
use dcm_core::service::{Applied, Error};

use crate::service::support::{World, draft, name, permission, unavailable};

/// The usual cloud with another permission.
fn edited() -> serde_json::Value {
    let mut edited = draft();
    edited["spec"]["permissions"].as_array_mut().unwrap().push(permission("other"));
    edited
}

/// What is planned for the edited cloud: the same as is handed over in a world that is the same.
async fn planned(generation: u64) -> PlannedState {
    let twin = World::new(true).await;
    twin.instantiated().await;
    twin.put(edited()).await.unwrap();
    twin.apply("shop").await.unwrap();
    let wanted = twin.engine.only().context.hash_as_planned();
    PlannedState { generation: Generation(generation), wanted, observed: BTreeMap::new() }
}

async fn apply_as(world: &World, planned: &PlannedState) -> Result<Applied, Error> {
    world.clouds.apply_as_planned(&world.caller, &world.project, &name("shop"), planned).await
}

/// A world in which the edited cloud is stored, and the one before is applied.
async fn stored() -> World {
    let world = World::new(true).await;
    world.instantiated().await;
    world.put(edited()).await.unwrap();
    world.engine.conditions();
    world
}

#[tokio::test]
async fn what_is_planned_is_applied_and_anything_else_is_stale_and_changes_nothing() {
    let world = stored().await;
    let before = (world.state("shop").await, world.engine.marks());
    let stale = apply_as(&world, &planned(3).await).await;
    assert!(matches!(stale, Err(Error::Stale { .. })), "{stale:?}");
    assert_eq!((world.state("shop").await, world.engine.marks()), before);
    let planned = planned(2).await;
    assert_eq!(apply_as(&world, &planned).await.unwrap().generation, Generation(2));
    assert_eq!(world.engine.conditions(), [Condition::AsPlanned(planned)]);
}

#[tokio::test]
async fn newer_credentials_are_bound_as_what_was_before_and_a_revocation_to_nothing() {
    let world = stored().await;
    apply_as(&world, &planned(2).await).await.unwrap();
    world.engine.conditions();
    let (shop, bot) = (name("shop"), name("bot"));
    world.clouds.renew(&world.caller, &world.project, &shop, Some(&bot)).await.unwrap();
    assert_eq!(world.engine.conditions(), [Condition::AsBefore]);
    world.clouds.revoke(&world.caller, &world.project, &shop, &bot).await.unwrap();
    assert_eq!(world.engine.conditions(), [Condition::Withdraw]);
}

#[tokio::test]
async fn what_was_cut_off_is_handed_over_as_it_was_planned_whoever_comes_next() {
    let world = stored().await;
    world.engine.fail_next(Failure::Store(unavailable()));
    let planned = planned(2).await;
    apply_as(&world, &planned).await.unwrap_err();
    let bot = name("bot");
    world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&bot)).await.unwrap();
    assert_eq!(world.engine.conditions(), [Condition::AsPlanned(planned), Condition::AsBefore]);
}

#[tokio::test]
async fn what_was_cut_off_and_is_stale_by_then_is_given_up() {
    let world = stored().await;
    world.engine.fail_next(Failure::Store(unavailable()));
    apply_as(&world, &planned(7).await).await.unwrap_err();
    let before = world.engine.only().objects();
    let bot = name("bot");
    world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&bot)).await.unwrap();
    assert_eq!(world.engine.conditions(), [Condition::AsBefore]);
    assert_eq!(world.engine.only().objects(), before, "what was planned is not on clusters");
}

#[tokio::test]
async fn who_applies_the_same_without_a_plan_is_bound_to_nothing_also_when_that_is_cut_off() {
    let world = stored().await;
    world.engine.fail_next(Failure::Store(unavailable()));
    apply_as(&world, &planned(2).await).await.unwrap_err();
    world.engine.fail_next(Failure::Store(unavailable()));
    world.apply("shop").await.unwrap_err();
    let bot = name("bot");
    world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&bot)).await.unwrap();
    assert_eq!(world.engine.conditions(), [Condition::AsBefore]);
}
