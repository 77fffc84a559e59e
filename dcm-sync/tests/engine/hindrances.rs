//! Clusters that can't be reached, refuse or hang.

use std::time::Duration;

use dcm_core::app_context::{AppContext, Existing, Request, TokenRequest};
use dcm_core::manifest::Manifest;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::Access;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{ContextStatus, LaneState, Progress, Reason};
use dcm_sync::engine::Options;
use dcm_sync::sim::{Faults, Identity, Link, Rights, Verb, cluster_id};
use dcm_sync::tap::ClusterChange;
use serde_json::json;

use crate::fixture::*;
use crate::gates::{Gate, engine_behind};
use crate::slow::world_with;

#[tokio::test(start_paused = true)]
async fn a_cut_cluster_slows_no_other_and_is_finished_when_it_comes_back() {
    let undisturbed = {
        let world = World::new(3);
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
        let status = done(&engine, &context_id()).await;
        status.lanes[&cluster_id(2)].since
    };
    for link in [Link::Cut, Link::Hang] {
        let world = World::new(3);
        world.fleet.cluster(&cluster_id(1)).unwrap().set_link(link);
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
        tokio::time::sleep(SOON / 4).await;
        let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
        assert_eq!(status.progress, Progress::Working);
        for number in 2..=3 {
            let lane = &status.lanes[&cluster_id(number)];
            assert_eq!((lane.state, lane.since), (LaneState::Done, undisturbed), "{link:?}");
        }
        let cause = status.lanes[&cluster_id(1)].cause.as_ref().unwrap();
        assert_eq!(cause.reason, Reason::Unreachable);
        // A cluster that hangs is being tried for as long as a request may take.
        assert!(cause.next_try.unwrap() > world.clock.now() || link == Link::Hang);
        world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Up);
        done(&engine, &context_id()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_not_there_is_named_and_work_goes_on_when_it_is() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(vec![apply(1, role_body("look", &["get"]))], [1])).await.unwrap();
    let status = until(&engine, |status| status.lanes[&cluster_id(1)].cause.is_some()).await;
    let cause = status.lanes[&cluster_id(1)].cause.clone().unwrap();
    assert!(cause.message.starts_with("the namespace team does not exist on the cluster"), "{cause:?}");
    assert_eq!(cause.object.unwrap().name, "look".into());
    let namespace = Manifest::new(namespace_body("team")).unwrap();
    world
        .fleet
        .cluster(&cluster_id(1))
        .unwrap()
        .server(|server| server.create_as("person", namespace.kind(), namespace.key(), namespace.body()))
        .unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_never_reached_can_be_taken_away_at_once() {
    let world = World::new(2);
    world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Cut);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    tokio::time::sleep(SOON / 10).await;
    engine.contexts().apply(&context(steps(), [2])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().forget(&context_id()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_context_without_clusters_can_be_changed_and_removed() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&context(steps(), [])).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&context(steps(), [])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_effect_late_leaves_nothing_behind() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let engine = world.engine();
    let mut other = context(vec![apply(0, namespace_body("other"))], [1]);
    other.id = ContextId::new("lc-0").unwrap();
    engine.contexts().apply(&other).await.unwrap();
    done(&engine, &other.id).await;
    // The creation arrives after 40 s, when the engine has given it up for 10 s, and the context with it.
    cluster.set_link(Link::Delay(Duration::from_secs(40)));
    engine.contexts().apply(&context(vec![apply(0, namespace_body("team"))], [1])).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    cluster.set_link(Link::Up);
    tokio::time::sleep(Duration::from_secs(31)).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    // Nobody watches any more when it is done.
    engine.shutdown().await;
    tokio::time::sleep(SOON).await;
    assert_eq!(world.owned(1), ["Namespace other"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_over_late_is_released_again() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let theirs = Manifest::new(namespace_body("team")).unwrap();
    let (kind, key) = (theirs.kind(), theirs.key());
    cluster.server(|server| server.create_as("kubectl", kind, key, theirs.body())).unwrap();
    let updates = Gate::shut(|change| matches!(change, ClusterChange::Update(_)));
    let engine = engine_behind(&world, [&updates]);
    let wanted = apply_or(0, theirs.body().clone(), Existing::Adopt);
    engine.contexts().apply(&context(vec![wanted], [1])).await.unwrap();
    updates.asked().await;
    updates.let_pass_late(&cluster).await;
    // The engine gives it up after 30 s, and the context with it.
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    until_so(|| cluster.server(|server| server.requests().count(Verb::Update)) > 0).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_sent_no_more_writes_than_its_budget() {
    let world = World::new(1);
    let options = Options { writes_per_second: 50, writes_burst: 100, ..Options::default() };
    let engine = world.engine_with(options);
    let mut many = vec![apply(0, namespace_body("team"))];
    many.extend((0..400).map(|number| apply(1, role_body(&format!("role-{number}"), &["get"]))));
    engine.contexts().apply(&context(many, [1])).await.unwrap();
    let started = world.clock.now();
    done(&engine, &context_id()).await;
    // 401 writes, of which 100 at once: 301 at 50 a second take 6.02 s.
    let elapsed = world.clock.now().duration_since(started).as_secs_f64();
    assert!((6.0..7.0).contains(&elapsed), "{elapsed} s");
}

#[tokio::test(start_paused = true)]
async fn what_a_cluster_refuses_is_tried_less_and_less_often() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    let before = world.writes();
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("nobody"))));
    let mut changed = steps();
    changed[2] = apply(1, role_body("reader", &["get"]));
    engine.contexts().apply(&context(changed, [1])).await.unwrap();
    tokio::time::sleep(SOON).await;
    // Waits of at least 2.5 s, 5 s, 10 s and so on fill the time.
    let tries = world.writes() - before;
    assert!((2..10).contains(&tries), "{tries} tries");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_watched_is_tried_less_and_less_often_and_at_once_when_somebody_asks() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let refused = || world.requests(|log| log.lines().filter(|line| line.error.is_some()).count() as u64);
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("nobody"))));
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team"}});
    let with_config = || steps().into_iter().chain([apply(1, config.clone())]).collect::<Vec<_>>();
    engine.contexts().apply(&context(with_config(), [1])).await.unwrap();
    tokio::time::sleep(SOON).await;
    let tries = refused();
    assert!((4..20).contains(&tries), "{tries} tries");
    let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert_eq!(status.lanes[&cluster_id(1)].cause.as_ref().unwrap().reason, Reason::Denied);

    cluster.server(|server| server.set_rights(Rights::All));
    engine.contexts().apply(&context(with_config(), [1])).await.unwrap();
    let asked = world.clock.now();
    done(&engine, &context_id()).await;
    assert!(world.clock.now().duration_since(asked).as_secs() < 1, "nobody waits for the next try");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_asks_to_be_left_alone_for_ever_is_asked_again_after_the_longest_wait() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let for_ever = Faults { too_many_requests: 1000, retry_after: Duration::MAX, ..Faults::NONE };
    cluster.set_faults(for_ever);
    let mut changed = steps();
    changed[2] = apply(1, role_body("reader", &["get"]));
    engine.contexts().apply(&context(changed, [1])).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    cluster.set_faults(Faults::NONE);
    done(&engine, &context_id()).await;
}

/// A store that takes a while makes a refusal come while the lane's record is being stored.
#[tokio::test(start_paused = true)]
async fn each_refusal_is_told_whenever_it_comes() {
    let resources = [("", "resourcequotas"), ("", "serviceaccounts"), ("rbac.authorization.k8s.io", "roles")];
    let cases =
        [0, 1, 3, 5, 7].into_iter().flat_map(|slowness| resources.map(|resource| (slowness, resource)));
    for (slowness, (group, resource)) in cases {
        let (world, _) = world_with(Duration::from_millis(slowness));
        let create = Access {
            verb: "create".into(),
            group: group.into(),
            resource: resource.into(),
            subresource: "".into(),
            name: "".into(),
            namespace: None,
        };
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
        cluster.server(|server| server.set_rights(Rights::AllBut(vec![create])));
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), [1])).await.unwrap();
        until(&engine, |status| {
            let cause = status.lanes.get(&cluster_id(1)).and_then(|lane| lane.cause.as_ref());
            cause.is_some_and(|cause| cause.reason == Reason::Denied)
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn lanes_of_one_cluster_take_turns() {
    let world = World::new(1);
    let engine = world.engine_with(Options { cluster_requests_max: 4, ..Options::default() });
    let mut many = vec![apply(0, namespace_body("other"))];
    many.extend((0..200).map(|number| {
        let metadata = json!({"name": format!("map-{number}"), "namespace": "other"});
        apply(1, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    }));
    let large = AppContext { id: ContextId::new("a-large-one").unwrap(), ..context(many, [1]) };
    engine.contexts().apply(&large).await.unwrap();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let made = world.requests(|log| log.count(Verb::Create));
    assert!(made < 100, "{made} objects were made before the small one was done");
    done(&engine, &large.id).await;
}

fn token(name: &str) -> dcm_core::app_context::Step {
    let asked =
        TokenRequest { namespace: "team".into(), service_account: name.into(), lifetime_seconds: None };
    request(2, name, Request::Token(asked))
}

/// What each request that is not answered waits for, as soon as there is anything.
async fn waits_for(world: &World, steps: Vec<dcm_core::app_context::Step>) -> Vec<String> {
    let engine = world.engine();
    engine.contexts().apply(&context(steps, [1])).await.unwrap();
    let objects = |status: &ContextStatus| -> Option<Vec<String>> {
        let requests = &status.lanes.get(&cluster_id(1))?.requests;
        let causes = requests.iter().map(|request| request.cause.as_ref());
        causes.map(|cause| Some(cause?.object.as_ref()?.to_string())).collect()
    };
    objects(&until(&engine, |status| objects(status).is_some()).await).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_request_says_what_it_waits_for_itself() {
    let world = World::new(1);
    let own = waits_for(&world, vec![apply(0, namespace_body("team")), token("ann"), token("bob")]).await;
    assert_eq!(own, ["ServiceAccount team/ann", "ServiceAccount team/bob"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_says_what_an_earlier_stage_waits_for() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let role = Manifest::new(role_body("reader", &["list"])).unwrap();
    let (kind, key) = namespace("team");
    cluster.server(|server| {
        server.create_as("person", &kind, &key, &namespace_body("team")).unwrap();
        server.create_as("person", role.kind(), role.key(), role.body()).unwrap();
    });
    let steps = vec![
        apply_or(0, namespace_body("team"), Existing::Adopt),
        apply(1, role_body("reader", &["get"])),
        token("ann"),
    ];
    let expected = ["Role.rbac.authorization.k8s.io team/reader"];
    assert_eq!(waits_for(&world, steps).await, expected);
}
