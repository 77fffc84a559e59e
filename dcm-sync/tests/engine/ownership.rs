//! What is not ours stays.

use dcm_core::app_context::{AppContext, Existing};
use dcm_core::manifest::Manifest;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::{LABEL_OWNER, NAMESPACE_BINDING};
use dcm_core::port::synchronizer::{Disposal, Error, Removal, Synchronizer as _};
use dcm_core::status::{ObjectState, Progress, Reason};
use dcm_sync::sim::{Link, cluster_id};
use serde_json::{Value, json};

use crate::fixture::*;

/// The namespace `team` with labels.
fn labelled(labels: &Value) -> Value {
    let mut body = namespace_body("team");
    body["metadata"]["labels"] = labels.clone();
    body
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_was_there_is_refused_and_left_alone() {
    let world = World::new(1);
    let (kind, key) = namespace("team");
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    cluster.server(|server| server.create_as("person", &kind, &key, &namespace_body("team"))).unwrap();
    let before = world.body(1, &kind, &key);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let status = engine.contexts().wait_until_done(&context_id()).await.unwrap();
    assert_eq!(status.progress, Progress::Stuck);
    assert_eq!(status.lanes[&cluster_id(1)].cause.as_ref().unwrap().reason, Reason::Foreign);
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.body(1, &kind, &key), before);
}

#[tokio::test(start_paused = true)]
async fn an_adopted_namespace_is_given_back_as_it_was() {
    let world = World::new(1);
    let (kind, key) = namespace("team");
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let theirs = labelled(&json!({"color": "blue"}));
    cluster.server(|server| server.create_as("person", &kind, &key, &theirs)).unwrap();
    let before = world.body(1, &kind, &key).unwrap();
    let engine = world.engine();
    let mut adopting = steps();
    adopting[0] = apply_or(0, labelled(&json!({"color": "blue", "tier": "gold"})), Existing::Adopt);
    engine.contexts().apply(&context(adopting, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let labels = &world.body(1, &kind, &key).unwrap()["metadata"]["labels"];
    assert!(labels[LABEL_OWNER].is_string() && labels["tier"] == "gold", "{labels}");
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    let mut after = world.body(1, &kind, &key).unwrap();
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
    assert_eq!(after, before);
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_others_say_of_an_adopted_namespace_is_not_overwritten() {
    let world = World::new(1);
    let (kind, key) = namespace("team");
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let theirs = labelled(&json!({"color": "blue"}));
    cluster.server(|server| server.create_as("person", &kind, &key, &theirs)).unwrap();
    let before = world.body(1, &kind, &key);
    let engine = world.engine();
    let adopting = apply_or(0, labelled(&json!({"color": "red"})), Existing::Adopt);
    engine.contexts().apply(&context(vec![adopting], [1])).await.unwrap();
    let status = engine.contexts().wait_until_done(&context_id()).await.unwrap();
    assert_eq!(status.progress, Progress::Stuck);
    assert_eq!(status.lanes[&cluster_id(1)].cause.as_ref().unwrap().reason, Reason::FieldConflict);
    assert_eq!(world.body(1, &kind, &key), before);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_contents_is_kept_unless_asked() {
    for delete_contents in [false, true] {
        let world = World::new(1);
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), [1])).await.unwrap();
        done(&engine, &context_id()).await;
        let (kind, key) = config_map("team", "theirs");
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "theirs", "namespace": "team"}});
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
        cluster.server(|server| server.create_as("person", &kind, &key, &body)).unwrap();
        engine
            .contexts()
            .remove(&context_id(), Removal { delete_contents, ..Removal::default() })
            .await
            .unwrap();
        let status = done(&engine, &context_id()).await;
        let (namespace_kind, namespace_key) = namespace("team");
        assert_eq!(world.body(1, &namespace_kind, &namespace_key).is_some(), !delete_contents);
        assert_eq!(world.body(1, &kind, &key).is_some(), !delete_contents);
        let lane = &status.lanes[&cluster_id(1)];
        let kept = lane.objects.iter().filter_map(|object| object.cause.as_ref());
        let kept: Vec<_> = kept.map(|cause| cause.message.to_string()).collect();
        let expected: &[&str] = if delete_contents { &[] } else { &["kept: it holds 1 objects of others"] };
        assert_eq!(kept, expected);
        assert_eq!(world.owned(1), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn rolebindings_of_others_in_a_namespace_that_is_kept_are_removed_on_request() {
    for (objects, removes) in [(None, false), (None, true), (Some(Disposal::Keep), true)] {
        let world = World::new(1);
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), [1])).await.unwrap();
        done(&engine, &context_id()).await;
        let another = ContextId::new("another").unwrap();
        let beside = AppContext {
            id: another.clone(),
            ..context(vec![apply(0, binding_in_team("beside", &[]))], [1])
        };
        engine.contexts().apply(&beside).await.unwrap();
        done(&engine, &another).await;
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
        for theirs in [binding_in_team("theirs", &[]), binding_in_team("held", &["example.org/hold"])] {
            let manifest = Manifest::new(theirs).unwrap();
            let (kind, key, body) = (manifest.kind(), manifest.key(), manifest.body());
            cluster.server(|server| server.create_as("person", kind, key, body)).unwrap();
        }
        let removal = Removal { objects, remove_others_bindings: removes, ..Removal::default() };
        engine.contexts().remove(&context_id(), removal).await.unwrap();
        done(&engine, &context_id()).await;
        let expected: &[(&str, usize)] = match removes {
            false => &[("beside", 1), ("held", 1), ("theirs", 1)],
            true => &[("beside", 1), ("held", 0)],
        };
        let expected = expected.iter().map(|(name, subjects)| ((*name).to_owned(), *subjects)).collect();
        assert_eq!(bound_in_team(&world, 1), expected, "{removal:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rolebindings_of_others_beyond_a_limit_stay_and_are_named() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    // The role that the engine binds to itself has this name: a binding of another role is no way in.
    let names = (0..301).map(|number| format!("x{number:03}")).chain([NAMESPACE_BINDING.to_owned()]);
    for name in names {
        let manifest = Manifest::new(binding_in_team(&name, &[])).unwrap();
        let (kind, key, body) = (manifest.kind(), manifest.key(), manifest.body());
        cluster.server(|server| server.create_as("person", kind, key, body)).unwrap();
    }
    let removal = Removal { remove_others_bindings: true, ..Removal::default() };
    engine.contexts().remove(&context_id(), removal).await.unwrap();
    let status = done(&engine, &context_id()).await;
    let left: Vec<_> = bound_in_team(&world, 1).into_keys().collect();
    assert_eq!(left, ["x299", "x300"]);
    let kept = status.lanes[&cluster_id(1)].objects.iter().find(|object| object.state == ObjectState::Kept);
    let kept = kept.unwrap();
    assert_eq!(kept.bindings.iter().map(|name| &**name).collect::<Vec<_>>(), ["x299", "x300"]);
    let message = "kept: it holds 2 objects of others; these RoleBindings still give rights: x299, x300";
    assert_eq!(&*kept.cause.as_ref().unwrap().message, message);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_belongs_to_one_context() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let mut other = context(vec![apply(0, namespace_body("team"))], [1]);
    other.id = ContextId::new("lc-2").unwrap();
    let error = engine.contexts().apply(&other).await.unwrap_err();
    assert!(matches!(&error, Error::NamespaceTaken { winner, .. } if *winner == context_id()), "{error:?}");
    assert_eq!(engine.contexts().status(&other.id).await.unwrap(), None);
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&other).await.unwrap();
    done(&engine, &other.id).await;
}

#[tokio::test(start_paused = true)]
async fn a_role_that_somebody_deleted_comes_back() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let role = Manifest::new(role_body("reader", &["get", "list"])).unwrap();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    tokio::time::sleep(SOON).await;
    assert!(world.body(1, role.kind(), role.key()).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_somebody_deleted_is_made_again_only_when_asked() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let (kind, key) = namespace("team");
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    cluster.server(|server| server.delete_as_other(&kind, &key)).unwrap();
    tokio::time::sleep(SOON).await;
    assert!(world.body(1, &kind, &key).is_none());
    let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert_eq!(status.lanes[&cluster_id(1)].cause.as_ref().unwrap().reason, Reason::NamespaceGone);
    assert!(status.lanes[&cluster_id(1)].objects.iter().all(|object| object.state == ObjectState::Pending));
    assert_eq!(status.progress, Progress::Stuck);
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    assert!(world.body(1, &kind, &key).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_never_reached_gives_its_namespace_free_when_it_is_taken_away() {
    let world = World::new(2);
    world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Cut);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    tokio::time::sleep(SOON / 10).await;
    engine.contexts().apply(&context(steps(), [2])).await.unwrap();
    done(&engine, &context_id()).await;
    let mut other = context(vec![apply(0, namespace_body("team"))], [1]);
    other.id = ContextId::new("lc-2").unwrap();
    engine.contexts().apply(&other).await.unwrap();
}
