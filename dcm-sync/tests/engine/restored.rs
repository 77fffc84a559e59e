//! A store that was restored from an old copy: what clusters hold of later changes stays until somebody has said whose
//! state is true.

use std::collections::BTreeMap;

use dcm_core::app_context::{Generation, Step};
use dcm_core::manifest::Manifest;
use dcm_core::port::cluster::Marks;
use dcm_core::port::store::Entry;
use dcm_core::port::synchronizer::{Condition, Removal, Synchronizer as _};
use dcm_core::status::{ContextStatus, Progress, Reason};
use dcm_sync::engine::Engine;
use dcm_sync::sim::cluster_id;
use serde_json::json;

use crate::fixture::*;

/// The steps without some of them, by their place.
fn without(places: &[usize]) -> Vec<Step> {
    let kept = steps().into_iter().enumerate().filter(|(place, _)| !places.contains(place));
    kept.map(|(_, step)| step).collect()
}

async fn change(engine: &Engine, steps: Vec<Step>) {
    engine.contexts().apply(&context(steps, [1])).await.unwrap();
    done(engine, &context_id()).await;
    tidied(engine).await;
}

/// A cluster after three changes that the store, an old copy, does not know of: a role more, another quota, a role less.
async fn three_changes_behind() -> (World, Vec<String>) {
    let world = World::new(1);
    let engine = world.engine();
    change(&engine, without(&[2])).await;
    let copy: Vec<Entry> = world.copy().await;
    change(&engine, steps()).await;
    let mut changed = steps();
    changed[1] = apply(1, quota_body(&json!({"pods": "3"})));
    change(&engine, changed.clone()).await;
    changed.remove(3);
    change(&engine, changed).await;
    engine.shutdown().await;
    let owned = world.owned(1);
    (world.restored(&copy).await, owned)
}

/// What the status says of each object that differs.
fn differences(status: &ContextStatus) -> BTreeMap<String, String> {
    let objects = &status.lanes[&cluster_id(1)].objects;
    let told = objects.iter().filter_map(|object| Some((object.key.to_string(), object.cause.clone()?)));
    let told = told.filter(|(_, cause)| cause.reason == Reason::StoreBehind);
    told.map(|(key, cause)| (key, cause.message.to_string())).collect()
}

async fn halted(engine: &Engine) -> ContextStatus {
    until(engine, |status| status.progress == Progress::Stuck).await
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_three_changes_behind_changes_nothing_and_tells_each_difference() {
    let (world, owned) = three_changes_behind().await;
    let before = world.writes();
    let engine = world.engine();
    let status = halted(&engine).await;
    let behind = |what: &str| format!("the cluster holds generation 4, the store wants 1: {what}");
    let group = "rbac.authorization.k8s.io";
    let expected = [
        ("Namespace team".to_owned(), behind("it is as the store wants it, and was written later")),
        ("ResourceQuota team/quota".to_owned(), behind("it is another one, and would be overwritten")),
        (format!("Role.{group} team/reader"), behind("it is not wanted, and would be deleted")),
        (
            format!("Role.{group} team/writer"),
            behind("it is recorded and not there, and would be made again"),
        ),
    ];
    assert_eq!(differences(&status), BTreeMap::from(expected));
    tokio::time::sleep(SOON).await;
    assert_eq!((world.writes(), world.owned(1)), (before, owned));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_behind_changes_nothing_however_often_it_is_asked() {
    let (world, owned) = three_changes_behind().await;
    let before = world.writes();
    let engine = world.engine();
    halted(&engine).await;
    for hard in 1..6 {
        let mut changed = steps();
        changed[1] = apply(1, quota_body(&json!({"pods": hard})));
        engine.contexts().apply(&context(changed, [1])).await.unwrap();
        halted(&engine).await;
    }
    assert_eq!((world.writes(), world.owned(1)), (before, owned));
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_a_person_asks_for_goes_beyond_all_that_was_seen() {
    let (world, _) = three_changes_behind().await;
    let engine = world.engine();
    halted(&engine).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}

/// Bindings of three roles: of the old copy, of both, and of the lost changes.
#[tokio::test(start_paused = true)]
async fn a_revocation_takes_rights_away_where_the_store_is_behind_and_gives_none() {
    let world = World::new(1);
    let engine = world.engine();
    let with = |bindings: &[(&str, &str)]| {
        let bindings = bindings.iter().map(|(role, user)| apply(1, binding_body(role, user)));
        context(steps().into_iter().chain(bindings).collect(), [1])
    };
    engine.contexts().apply(&with(&[("reader", "ann:1"), ("writer", "bob:1")])).await.unwrap();
    done(&engine, &context_id()).await;
    tidied(&engine).await;
    let copy = world.copy().await;
    // Bob is revoked, and Ann may do more: of that the old copy knows nothing.
    let lost = with(&[("reader", "ann:1"), ("writer", "bob:2"), ("watcher", "ann:1")]);
    engine.contexts().apply(&lost).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    let world = world.restored(&copy).await;
    let engine = world.engine();
    halted(&engine).await;
    let bound = |world: &World| -> Vec<String> {
        let owned = world.owned(1).into_iter().filter(|object| object.starts_with("RoleBinding"));
        owned.map(|object| object.rsplit('/').next().unwrap().to_owned()).collect()
    };
    assert_eq!(bound(&world), ["reader", "watcher", "writer"]);
    let (objects, before) = (world.owned(1).len(), world.writes());
    let revoked = with(&[("reader", "ann:2"), ("writer", "bob:1")]);
    engine.contexts().apply_on(&revoked, &Condition::Withdraw).await.unwrap();
    until_so(|| bound(&world).is_empty()).await;
    let status = halted(&engine).await;
    tokio::time::sleep(SOON).await;
    assert_eq!((world.owned(1).len(), world.writes()), (objects - 3, before + 3), "{status:#?}");
    // Once a person has said that the store is right, they are made as it wants them.
    engine.contexts().reconcile(&context_id()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(bound(&world), ["reader", "writer"]);
}

fn binding_body(role: &str, user: &str) -> serde_json::Value {
    let group = "rbac.authorization.k8s.io";
    json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": "team"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}]})
}

#[tokio::test(start_paused = true)]
async fn the_number_of_a_lost_change_that_is_given_again_is_no_later_change() {
    let world = World::new(1);
    let engine = world.engine();
    change(&engine, without(&[2])).await;
    let copy = world.copy().await;
    change(&engine, steps()).await;
    engine.shutdown().await;
    let world = world.restored(&copy).await;
    let before = world.writes();
    // The second change of the old copy: generation 2, as the one that was lost.
    let mut changed = without(&[2]);
    changed[1] = apply(1, quota_body(&json!({"pods": "3"})));
    let engine = world.engine();
    engine.contexts().apply(&context(changed, [1])).await.unwrap();
    let status = halted(&engine).await;
    assert!(differences(&status).contains_key("Role.rbac.authorization.k8s.io team/reader"), "{status:#?}");
    assert_eq!(world.writes(), before);
}

#[tokio::test(start_paused = true)]
async fn once_told_that_the_store_is_right_it_goes_on_and_beyond_all_that_was_seen() {
    let (world, _) = three_changes_behind().await;
    let engine = world.engine();
    halted(&engine).await;
    let generation = engine.contexts().reconcile(&context_id()).await.unwrap();
    assert_eq!(generation, Generation(5));
    done(&engine, &context_id()).await;
    let (quota, writer) = (
        Manifest::new(quota_body(&json!({}))).unwrap(),
        Manifest::new(role_body("writer", &["create"])).unwrap(),
    );
    let body = world.body(1, quota.kind(), quota.key()).unwrap();
    assert_eq!(body["spec"]["hard"], json!({"pods": "10", "requests.cpu": "4"}));
    let made = world.body(1, writer.kind(), writer.key()).unwrap();
    assert_eq!(Marks::read(&made).unwrap().generation, generation);
    assert!(!world.owned(1).iter().any(|key| key.ends_with("team/reader")));
    assert_eq!(
        engine.contexts().reconcile(&context_id()).await.unwrap(),
        generation,
        "nothing is left to say"
    );
    // It lives on as any other.
    change(&engine, steps()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_replaced_by_a_lost_change_is_the_stores_again_when_it_is_right() {
    let world = World::new(1);
    let engine = world.engine();
    change(&engine, steps()).await;
    let copy = world.copy().await;
    change(&engine, without(&[2])).await;
    change(&engine, steps()).await;
    engine.shutdown().await;
    let world = world.restored(&copy).await;
    let engine = world.engine();
    halted(&engine).await;
    engine.contexts().reconcile(&context_id()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_change_that_only_takes_away_is_one_write_more_and_can_be_told() {
    let world = World::new(1);
    let engine = world.engine();
    change(&engine, steps()).await;
    let copy = world.copy().await;
    let before = world.writes();
    change(&engine, without(&[2, 3])).await;
    assert_eq!(world.writes() - before, 3, "two deletions and the namespace");
    engine.shutdown().await;
    let world = world.restored(&copy).await;
    let engine = world.engine();
    let status = halted(&engine).await;
    assert_eq!(differences(&status).len(), 3, "{status:#?}");
}
