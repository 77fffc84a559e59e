//! Marks that others write prove nothing: not what is ours, nor how new it is.

use dcm_core::app_context::{Existing, Generation};
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::port::cluster::{
    ANNOTATION_GENERATION, ANNOTATION_ORIGIN, FIELD_MANAGER, LABEL_CONTEXT, LABEL_OWNER, ORIGIN_ADOPTED,
};
use dcm_core::port::proof::ANNOTATION_PROOF;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{Progress, Reason};
use dcm_sync::engine::{Engine, What};
use dcm_sync::sim::cluster_id;
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::fixture::*;

const ATTACKER: &str = "kubectl-annotate";

fn role() -> (GroupVersionKind, ObjectKey) {
    let manifest = Manifest::new(role_body("reader", &[])).unwrap();
    (manifest.kind().clone(), manifest.key().clone())
}

/// A world in which all is done.
async fn applied() -> (World, Engine) {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    tidied(&engine).await;
    (world, engine)
}

fn edit(world: &World, manager: &str, patch: &Value) {
    let (kind, key) = role();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.edit_as(manager, &kind, &key, patch)).unwrap();
}

fn metadata(world: &World) -> Value {
    let (kind, key) = role();
    let mut metadata = world.body(1, &kind, &key).unwrap()["metadata"].take();
    for member in ["resourceVersion", "managedFields"] {
        metadata[member].take();
    }
    metadata
}

#[tokio::test(start_paused = true)]
async fn marks_that_others_change_are_told_and_come_back_and_their_generation_means_nothing() {
    let (world, engine) = applied().await;
    let before = metadata(&world);
    let annotation = |name: &str, value: Value| json!({"metadata": {"annotations": {name: value}}});
    let label = |name: &str, value: Value| json!({"metadata": {"labels": {name: value}}});
    for forged in [
        annotation(ANNOTATION_GENERATION, "2".into()),
        annotation(ANNOTATION_GENERATION, u64::MAX.to_string().into()),
        annotation(ANNOTATION_PROOF, Value::Null),
        annotation(ANNOTATION_ORIGIN, ORIGIN_ADOPTED.into()),
        label(LABEL_CONTEXT, "another".into()),
        label(LABEL_OWNER, "another".into()),
        label(LABEL_OWNER, Value::Null),
    ] {
        // A contest is over after a while.
        tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
        let mut events = engine.events();
        edit(&world, ATTACKER, &forged);
        let cause = loop {
            match events.next().await.unwrap().what {
                What::Drifted(cause) => break cause,
                What::Hindered(cause) => panic!("{forged}: {cause:?}"),
                _ => {}
            }
        };
        assert_eq!((cause.reason, cause.object), (Reason::Tampered, Some(role().1)), "{forged}");
        event(&mut events, |what| matches!(what, What::Corrected(key) if *key == role().1)).await;
        assert_eq!(metadata(&world), before, "{forged}");
    }
    let status = done(&engine, &context_id()).await;
    assert_eq!(status.generation, Generation(1));
}

#[tokio::test(start_paused = true)]
async fn a_change_and_a_removal_go_on_whatever_generation_somebody_wrote() {
    let (world, engine) = applied().await;
    engine.shutdown().await;
    edit(
        &world,
        ATTACKER,
        &json!({"metadata": {"annotations": {ANNOTATION_GENERATION: u64::MAX.to_string()}}}),
    );
    let engine = world.engine();
    let mut changed = steps();
    changed[1] = apply(1, quota_body(&json!({"pods": "3"})));
    engine.contexts().apply(&context(changed, [1])).await.unwrap();
    assert_eq!(done(&engine, &context_id()).await.generation, Generation(2));
    edit(&world, ATTACKER, &json!({"metadata": {"annotations": {ANNOTATION_GENERATION: "77"}}}));
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    assert_eq!(done(&engine, &context_id()).await.generation, Generation(3));
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn marks_that_are_copied_to_another_object_do_not_make_it_ours() {
    let (world, engine) = applied().await;
    let (kind, role) = role();
    let key = ObjectKey::of_kind(&kind, Some("team"), "theirs");
    let mut body = world.body(1, &kind, &role).unwrap();
    let metadata = &body["metadata"];
    body["metadata"] = json!({"name": "theirs", "namespace": "team", "labels": metadata["labels"],
        "annotations": metadata["annotations"]});
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    cluster.server(|server| server.create_as(ATTACKER, &kind, &key, &body)).unwrap();
    let before = world.body(1, &kind, &key);
    tokio::time::sleep(SOON).await;
    assert_eq!(world.body(1, &kind, &key), before, "it is not deleted");

    // Where an object of its name is wanted it stands in the way, as any that was there before.
    let mut more = steps();
    more.push(apply(1, role_body("theirs", &["get"])));
    engine.contexts().apply(&context(more, [1])).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    let cause = status.lanes[&cluster_id(1)].cause.clone().unwrap();
    assert_eq!(
        (cause.reason, &*cause.message),
        (Reason::Foreign, "it carries our marks without their proof, so it is not ours")
    );
    assert_eq!(world.body(1, &kind, &key), before);

    // A command takes it over, and it is never deleted.
    let mut adopting = steps();
    adopting.push(apply_or(1, role_body("theirs", &["get"]), Existing::Overwrite));
    engine.contexts().apply(&context(adopting, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert!(world.body(1, &kind, &key).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_is_changed_under_our_field_manager_comes_back() {
    let (world, engine) = applied().await;
    let (kind, key) = role();
    let rules = |world: &World| world.body(1, &kind, &key).unwrap()["rules"].clone();
    let before = rules(&world);
    let mut events = engine.events();
    edit(
        &world,
        FIELD_MANAGER,
        &json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}),
    );
    event(&mut events, |what| matches!(what, What::Corrected(corrected) if *corrected == key)).await;
    assert_eq!(rules(&world), before);
}
