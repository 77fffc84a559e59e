//! Calls at the same moment never leave a desired state of which a part is missing.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::app_context::{AppContext, Generation};
use dcm_core::port::store::{Path, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Condition, Error, PlannedState, Removal, Synchronizer as _};
use dcm_core::status::Intent;

use crate::support::{World, cluster, context, id, later};

/// How far two calls are shifted against each other: more than either has steps.
const SHIFTS: usize = 40;

/// A removed context that no cluster ever held.
async fn removed(atomic_batches: bool) -> World {
    let world = World::new(atomic_batches);
    world.contexts.apply(&context(&["a", "b"], 1..=2)).await.unwrap();
    world.contexts.remove(&id(), Removal::default()).await.unwrap();
    world
}

/// Every part of what is wanted is there, and nobody else can take its namespaces.
async fn assert_whole(world: &World, shift: usize) {
    assert_eq!(world.missing().await, BTreeSet::new(), "shift {shift}");
    let claims = world.records().await.into_keys().filter(|path| path.starts_with("claims/"));
    assert_eq!(claims.count(), 2, "shift {shift}");
}

#[tokio::test]
async fn an_apply_and_a_forget_at_once_leave_a_whole_desired_state() {
    let mut met = 0;
    for (shift, apply_first) in (0..SHIFTS).flat_map(|shift| [(shift, true), (shift, false)]) {
        for atomic_batches in [true, false] {
            let world = removed(atomic_batches).await;
            let wanted = context(&["a", "b"], 1..=2);
            let apply = async {
                later(if apply_first { 0 } else { shift }).await;
                world.contexts.apply(&wanted).await
            };
            let forget = async {
                later(if apply_first { shift } else { 0 }).await;
                world.contexts.forget(&id()).await
            };
            let (applied, forgotten) = tokio::join!(apply, forget);
            applied.unwrap();
            assert_whole(&world, shift).await;
            match forgotten {
                Ok(()) | Err(Error::NotRemoved { .. }) => {}
                Err(Error::Contended { .. }) => met += 1,
                Err(error) => panic!("shift {shift}: {error}"),
            }
        }
    }
    assert!(met > 0, "the two did meet");
}

#[tokio::test]
async fn two_applies_at_once_leave_a_whole_desired_state() {
    for shift in 0..SHIFTS {
        let world = World::new(false);
        world.contexts.apply(&context(&["a", "b", "c"], 1..=2)).await.unwrap();
        let (fewer, everything) = (context(&["a"], 1..=2), context(&["a", "b", "c"], 1..=2));
        let all = async {
            later(shift).await;
            world.contexts.apply(&everything).await
        };
        let (one, other) = tokio::join!(world.contexts.apply(&fewer), all);
        assert!(one.is_ok() && other.is_ok(), "shift {shift}: {one:?} {other:?}");
        assert_whole(&world, shift).await;
    }
}

#[tokio::test]
async fn two_forgets_at_once_leave_nothing() {
    for shift in 0..SHIFTS {
        let (world, id) = (removed(false).await, id());
        let other = async {
            later(shift).await;
            world.contexts.forget(&id).await
        };
        let (one, other) = tokio::join!(world.contexts.forget(&id), other);
        for forgotten in [one, other] {
            assert!(matches!(forgotten, Ok(()) | Err(Error::Contended { .. })), "{forgotten:?}");
        }
        world.contexts.forget(&id).await.unwrap();
        let left: Vec<String> = world.records().await.into_keys().collect();
        assert_eq!(left, ["forgotten"], "shift {shift}");
    }
}

#[tokio::test]
async fn a_manifest_that_was_lost_is_written_again_by_the_next_apply() {
    let world = World::new(true);
    let wanted = context(&["a", "b"], 1..=2);
    world.contexts.apply(&wanted).await.unwrap();
    let lost: Vec<String> =
        world.records().await.into_keys().filter(|path| path.starts_with("manifests/")).collect();
    for path in lost {
        let entry = world.store.get(&Path::new(path).unwrap()).await.unwrap().unwrap();
        world.store.write_one(Write::Delete { path: entry.path, version: entry.version }).await.unwrap();
    }
    assert_eq!(world.missing().await.len(), 3);
    world.contexts.apply(&wanted).await.unwrap();
    assert_whole(&world, 0).await;
    assert_eq!(world.contexts.status(&id()).await.unwrap().unwrap().intent, Intent::Present);
}

/// Planned as this generation, on a cluster in this state.
fn as_planned(wanted: &AppContext, generation: u64, state: &str) -> Condition {
    let (generation, wanted) = (Generation(generation), wanted.hash_as_planned());
    let observed = BTreeMap::from([(cluster(1), state.into())]);
    Condition::AsPlanned(PlannedState { generation, wanted, observed })
}

#[tokio::test]
async fn what_is_asked_for_again_is_bound_as_whoever_asks_and_so_is_what_another_one_applies_meanwhile() {
    let (mut overtaken, mut refused) = (0, 0);
    for (shift, is_planned_again) in (0..SHIFTS).flat_map(|shift| [(shift, true), (shift, false)]) {
        let world = World::new(true);
        let (first, second) = (context(&["a"], 1..=2), context(&["b"], 1..=2));
        world.contexts.apply(&first).await.unwrap();
        let (again, other) = match is_planned_again {
            true => (as_planned(&first, 1, "before"), Condition::Always),
            false => (Condition::Always, as_planned(&second, 2, "planned")),
        };
        let change = async {
            later(shift).await;
            world.contexts.apply_on(&second, &other).await
        };
        let (asked, changed) = tokio::join!(world.contexts.apply_on(&first, &again), change);
        let root = world.records().await["contexts/lc-1/root"].clone();
        let bound = root["planned"]["clusters"]["sim/c1"].as_str();
        let expected = match (root["generation"].as_u64().unwrap(), is_planned_again) {
            (2, false) => Some("planned"),
            _ => None,
        };
        assert_eq!(bound, expected, "shift {shift}: {asked:?}, {changed:?}, {root:#}");
        overtaken += u32::from(root["generation"] == 3);
        refused += u32::from(asked.is_err());
    }
    assert!(overtaken > 0 && refused > 0, "{overtaken} overtaken, {refused} refused");
}
