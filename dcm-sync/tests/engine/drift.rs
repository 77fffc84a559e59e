//! What others change or delete of ours comes back, or is reported; and nobody fights for ever.

use std::sync::Arc;

use dcm_core::app_context::{Drift, Existing, Step};
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::port::store::{Change, Entry, Path, Prefix, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{Cause, LaneState, LaneStatus, ObjectState, Progress, Reason};
use dcm_sync::engine::{Engine, Event, Options, What};
use dcm_sync::sim::{Link, Rights, SimCluster, cluster_id};
use futures::{Stream, StreamExt as _};
use serde_json::{Value, json};

use crate::fixture::*;

fn quota() -> (GroupVersionKind, ObjectKey) {
    let manifest = Manifest::new(quota_body(&json!({}))).unwrap();
    (manifest.kind().clone(), manifest.key().clone())
}

/// A namespace with a quota of which others may change something, or may not, and a role.
fn steps_with(drift: Drift) -> Vec<Step> {
    vec![
        apply(0, namespace_body("team")),
        apply_with(1, quota_body(&json!({"pods": "10", "secrets": "5"})), Existing::Refuse, drift.clone()),
        apply_with(1, role_body("reader", &["get"]), Existing::Refuse, drift),
    ]
}

fn except(path: &str) -> Drift {
    Drift::Correct { except: [path.parse().unwrap()].into() }
}

struct Scene {
    world: World,
    cluster: SimCluster,
    engine: Engine,
}

impl Scene {
    /// A cluster that holds the steps.
    async fn of(steps: Vec<Step>) -> Self {
        let world = World::new(1);
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
        let engine = world.engine();
        engine.contexts().apply(&context(steps, [1])).await.unwrap();
        done(&engine, &context_id()).await;
        Self { world, cluster, engine }
    }

    fn edit(&self, manager: &str, patch: &Value) {
        let (kind, key) = quota();
        self.cluster.server(|server| server.edit_as(manager, &kind, &key, patch)).unwrap();
    }

    fn hard(&self) -> Value {
        let (kind, key) = quota();
        self.world.body(1, &kind, &key).unwrap()["spec"]["hard"].clone()
    }

    async fn lane(&self) -> LaneStatus {
        let status = self.engine.contexts().status(&context_id()).await.unwrap().unwrap();
        assert_eq!(status.progress, Progress::Done, "{status:#?}");
        status.lanes[&cluster_id(1)].clone()
    }

    /// The cause of the lane's drift; none when there is none.
    async fn drift(&self) -> Option<Cause> {
        let cause = self.lane().await.cause?;
        assert_eq!(cause.reason, Reason::Drifted);
        Some(cause)
    }

    fn writes(&self) -> u64 {
        self.world.writes()
    }
}

/// The next event that the choice takes.
async fn next<T>(events: &mut (impl Stream<Item = Event> + Unpin), choose: impl Fn(What) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(chosen) = choose(events.next().await.unwrap().what) {
                return chosen;
            }
        }
    };
    tokio::time::timeout(SOON, wait).await.unwrap()
}

async fn drifted(events: &mut (impl Stream<Item = Event> + Unpin)) -> Cause {
    next(events, |what| if let What::Drifted(cause) = what { Some(cause) } else { None }).await
}

async fn corrected(events: &mut (impl Stream<Item = Event> + Unpin)) -> ObjectKey {
    next(events, |what| if let What::Corrected(key) = what { Some(key) } else { None }).await
}

async fn made(events: &mut (impl Stream<Item = Event> + Unpin)) -> ObjectKey {
    next(events, |what| if let What::Created(key) = what { Some(key) } else { None }).await
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changed_or_removed_comes_back_with_one_write_and_both_are_told() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    let wanted = scene.hard();
    let mut events = scene.engine.events();
    for (patch, told) in [
        (json!({"spec": {"hard": {"pods": "99"}}}), "spec.hard.pods is held by kubectl-edit"),
        (json!({"spec": {"hard": {"secrets": null}}}), "spec.hard.secrets is held by nobody"),
    ] {
        let writes = scene.writes();
        scene.edit("kubectl-edit", &patch);
        let cause = drifted(&mut events).await;
        assert_eq!((&*cause.message, cause.object), (told, Some(quota().1)));
        assert_eq!(corrected(&mut events).await, quota().1);
        assert_eq!((scene.hard(), scene.writes()), (wanted.clone(), writes + 1));
        done(&scene.engine, &context_id()).await;
        assert_eq!(scene.drift().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_others_add_and_what_the_cluster_reports_is_no_drift() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    scene.edit(
        "kubectl-edit",
        &json!({"spec": {"hard": {"configmaps": "3"}}, "metadata": {"labels": {"a": "b"}}}),
    );
    scene.edit("kube-controller-manager", &json!({"status": {"used": {"pods": "1"}}}));
    let writes = scene.writes();
    tokio::time::sleep(SOON).await;
    assert_eq!((scene.writes(), scene.drift().await), (writes, None));
    assert_eq!(scene.hard()["configmaps"], "3");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_role_comes_back_and_is_told_as_drift() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    let role = Manifest::new(role_body("reader", &["get"])).unwrap();
    let mut events = scene.engine.events();
    scene.cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    let cause = drifted(&mut events).await;
    assert_eq!(
        (&*cause.message, cause.object.as_ref()),
        ("it was deleted by another client", Some(role.key()))
    );
    assert_eq!(made(&mut events).await, *role.key());
}

#[tokio::test(start_paused = true)]
async fn what_is_missed_and_may_not_be_looked_at_is_done_no_more() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    let (kind, key) = quota();
    let mut events = scene.engine.events();
    scene.cluster.server(|server| {
        server.set_rights(Rights::AllBut(vec![to_quotas("get")]));
        server.delete_as_other(&kind, &key).unwrap();
    });
    let hindered = async |events: &mut _| {
        next(events, |what| if let What::Hindered(cause) = what { Some(cause) } else { None }).await
    };
    // What may be allowed in the next moment is tried again first.
    let mut told = hindered(&mut events).await;
    while told.reason == Reason::Retrying {
        told = hindered(&mut events).await;
    }
    assert_eq!((told.reason, told.object), (Reason::Denied, Some(key.clone())));
    let status = scene.engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert_eq!((status.progress, status.lanes[&cluster_id(1)].state), (Progress::Stuck, LaneState::Working));
    scene.cluster.server(|server| server.set_rights(Rights::All));
    assert_eq!(made(&mut events).await, key);
    done(&scene.engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_only_to_be_reported_is_left_and_stands_in_the_status_without_further_writes() {
    let scene = Scene::of(steps_with(Drift::Report)).await;
    let role = Manifest::new(role_body("reader", &["get"])).unwrap();
    let writes = scene.writes();
    // It cannot appear by chance in a timestamp.
    let hidden_value = "1234567890";
    scene.edit("kubectl-edit", &json!({"spec": {"hard": {"pods": hidden_value}}}));
    scene.cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!((scene.writes(), &scene.hard()["pods"]), (writes, &json!(hidden_value)));
    assert!(scene.world.body(1, role.kind(), role.key()).is_none());
    let lane = scene.lane().await;
    let told = lane.objects.iter().filter(|object| object.state == ObjectState::Drifted);
    let told: Vec<_> = told.map(|object| (&*object.key.kind, object.cause.as_ref().unwrap())).collect();
    let texts: Vec<_> = told.iter().map(|(kind, cause)| (*kind, &*cause.message)).collect();
    let deleted = "it was deleted by another client; apply again to have it made anew";
    assert_eq!(texts, [("ResourceQuota", "spec.hard.pods is held by kubectl-edit"), ("Role", deleted)]);
    assert!(!format!("{lane:?}").contains(hidden_value), "no values");
    let before = scene.engine.contexts().status(&context_id()).await.unwrap();
    scene.edit("kube-controller-manager", &json!({"status": {"used": {"pods": "1"}}}));
    tokio::time::sleep(SOON).await;
    assert_eq!(scene.engine.contexts().status(&context_id()).await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn only_the_named_fields_are_left_also_when_the_manifest_changes() {
    let scene = Scene::of(steps_with(except("spec.hard.pods"))).await;
    scene.edit("autoscaler", &json!({"spec": {"hard": {"pods": "99", "secrets": "99"}}}));
    tokio::time::sleep(SOON).await;
    assert_eq!(scene.hard(), json!({"pods": "99", "secrets": "5"}));
    assert_eq!(&*scene.drift().await.unwrap().message, "spec.hard.pods is held by autoscaler");
    let mut changed = steps_with(except("spec.hard.pods"));
    let body = quota_body(&json!({"pods": "11", "secrets": "6"}));
    changed[1] = apply_with(1, body, Existing::Refuse, except("spec.hard.pods"));
    scene.engine.contexts().apply(&context(changed, [1])).await.unwrap();
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.hard(), json!({"pods": "99", "secrets": "6"}));
    scene.engine.contexts().apply(&context(steps_with(Drift::default()), [1])).await.unwrap();
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.hard(), json!({"pods": "10", "secrets": "5"}));
    assert_eq!(scene.drift().await, None);
}

#[tokio::test(start_paused = true)]
async fn drift_while_nobody_looked_is_seen_by_the_next_engine() {
    let scene = Scene::of(steps_with(except("spec.hard.pods"))).await;
    scene.engine.shutdown().await;
    scene.edit("kubectl-edit", &json!({"spec": {"hard": {"pods": "99", "secrets": "99"}}}));
    let next = Scene { engine: scene.world.engine(), ..scene };
    tokio::time::sleep(SOON).await;
    assert_eq!(next.hard(), json!({"pods": "99", "secrets": "5"}));
    assert_eq!(&*next.drift().await.unwrap().message, "spec.hard.pods is held by kubectl-edit");
}

/// Changes the quota as another program that answers each write, until nobody answers any more.
async fn fight(scene: &Scene) {
    let mut events = scene.engine.events();
    for _ in 0..Options::default().corrections_max {
        scene.edit("rancher", &json!({"spec": {"hard": {"pods": "99"}}}));
        assert_eq!(corrected(&mut events).await, quota().1);
    }
    scene.edit("rancher", &json!({"spec": {"hard": {"pods": "99"}}}));
    let cause = drifted(&mut events).await;
    assert!(cause.message.contains("rancher") && cause.next_try.is_some(), "{cause:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fight_is_given_up_with_the_others_name_and_begun_again_later_or_when_applied_again() {
    let options = Options::default();
    let scene = Scene::of(steps_with(Drift::default())).await;
    fight(&scene).await;
    let writes = scene.writes();
    tokio::time::sleep(options.contest_wait_min / 2).await;
    assert_eq!((scene.writes(), &scene.hard()["pods"]), (writes, &json!("99")));
    let cause = scene.drift().await.unwrap();
    assert!(cause.message.contains("spec.hard.pods is held by rancher"), "{cause:?}");
    tokio::time::sleep(options.contest_wait_min).await;
    assert_eq!((&scene.hard()["pods"], scene.drift().await), (&json!("10"), None));
    scene.edit("rancher", &json!({"spec": {"hard": {"pods": "99"}}}));
    for _ in 1..options.corrections_max {
        tokio::time::sleep(options.correction_window / 100).await;
        scene.edit("rancher", &json!({"spec": {"hard": {"pods": "99"}}}));
    }
    tokio::time::sleep(options.contest_wait_min * 3 / 2).await;
    assert_eq!(scene.hard()["pods"], "99", "the second wait is longer");
    scene.engine.contexts().apply(&context(steps_with(Drift::default()), [1])).await.unwrap();
    tokio::time::sleep(SOON / 10).await;
    assert_eq!((&scene.hard()["pods"], scene.drift().await), (&json!("10"), None));
}

#[tokio::test(start_paused = true)]
async fn a_fight_that_was_given_up_is_not_begun_anew_since_somebody_wrote_the_lanes_record() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    fight(&scene).await;
    let store = &scene.world.store;
    let lanes = store.list_all(&Prefix::below(&Path::new("lanes").unwrap())).await.unwrap();
    for Entry { path, version, document } in lanes {
        store.write_one(Write::Update { path, version, document }).await.unwrap();
    }
    // The lane's next write meets that, and it is read anew.
    let role = Manifest::new(role_body("reader", &["get"])).unwrap();
    let mut events = scene.engine.events();
    scene.cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    assert_eq!(made(&mut events).await, *role.key());
    tokio::time::sleep(Options::default().contest_wait_min / 4).await;
    assert_eq!(scene.hard()["pods"], "99");
    assert!(scene.drift().await.unwrap().message.contains("rancher"));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_somebody_deleted_costs_the_lanes_record_two_writes_until_it_is_there_again() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    let role = Manifest::new(role_body("reader", &["get"])).unwrap();
    let lanes = Prefix::below(&Path::new("lanes").unwrap());
    let written = scene.world.store.watch(&lanes).await.unwrap();
    scene.cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    let written = written.take_until(Box::pin(tokio::time::sleep(SOON / 10)));
    let causes = written.map(|change| {
        let Change::Put(Entry { document, .. }) = change else { panic!("{change:?}") };
        document.read::<Value>().unwrap()["causes"].as_array().map_or(0, Vec::len)
    });
    assert_eq!(causes.collect::<Vec<_>>().await, [1, 0], "it is told until it is there again");
    assert!(scene.world.body(1, role.kind(), role.key()).is_some());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_again_and_again_is_given_up_too() {
    let scene = Scene::of(steps_with(Drift::default())).await;
    let role = Manifest::new(role_body("reader", &["get"])).unwrap();
    let mut events = scene.engine.events();
    let delete = || scene.cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    for _ in 0..Options::default().corrections_max {
        delete();
        assert_eq!(made(&mut events).await, *role.key());
    }
    delete();
    tokio::time::sleep(Options::default().contest_wait_min / 2).await;
    assert!(scene.world.body(1, role.kind(), role.key()).is_none());
    let cause = scene.drift().await.unwrap();
    assert!(
        cause.message.starts_with("it was deleted by another client; ") && cause.next_try.is_some(),
        "{cause:?}"
    );
    tokio::time::sleep(Options::default().contest_wait_min).await;
    assert!(scene.world.body(1, role.kind(), role.key()).is_some());
}

#[tokio::test(start_paused = true)]
async fn where_a_watch_is_refused_recorded_objects_are_read_now_and_then() {
    let interval = Options::default().read_interval;
    let scene = Scene::of(steps_with(except("spec.hard.secrets"))).await;
    scene.cluster.server(|server| server.set_rights(Rights::AllBut(vec![to_quotas("list")])));
    scene.cluster.set_link(Link::Cut);
    tokio::time::sleep(interval).await;
    scene.cluster.set_link(Link::Up);
    tokio::time::sleep(SOON).await;
    scene.edit("kubectl-edit", &json!({"spec": {"hard": {"pods": "99", "secrets": "99"}}}));
    tokio::time::sleep(interval * 2).await;
    assert_eq!(scene.hard(), json!({"pods": "10", "secrets": "99"}));
    assert_eq!(&*scene.drift().await.unwrap().message, "spec.hard.secrets is held by kubectl-edit");
    let (before, writes) = (scene.world.store_state().await, scene.writes());
    tokio::time::sleep(SOON).await;
    assert_eq!((scene.world.store_state().await, scene.writes()), (before, writes), "reading writes nothing");
    let (kind, key) = quota();
    scene.cluster.server(|server| server.delete_as_other(&kind, &key)).unwrap();
    tokio::time::sleep(interval * 2).await;
    assert_eq!(scene.hard(), json!({"pods": "10", "secrets": "5"}));
    scene.cluster.server(|server| server.set_rights(Rights::All));
    tokio::time::sleep(Options::default().retry_max).await;
    let mut events = scene.engine.events();
    let edited = scene.world.clock.now();
    scene.edit("kubectl-edit", &json!({"spec": {"hard": {"pods": "99"}}}));
    assert_eq!(corrected(&mut events).await, key);
    assert!(scene.world.clock.now().duration_since(edited).as_secs() < 1, "it is watched again");
}

/// A cluster on which somebody made the quota before, and an engine that is to have it with a policy.
async fn met(hard: &Value, existing: Existing) -> Scene {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let (kind, key) = quota();
    let (namespace_kind, namespace_key) = namespace("team");
    cluster.server(|server| {
        server.create_as("person", &namespace_kind, &namespace_key, &namespace_body("team")).unwrap();
        server.create_as("person", &kind, &key, &quota_body(hard)).unwrap();
    });
    let engine = world.engine();
    let steps = vec![
        apply_or(0, namespace_body("team"), Existing::Adopt),
        apply_or(1, quota_body(&json!({"pods": "10", "requests.cpu": "1000m"})), existing),
    ];
    engine.contexts().apply(&context(steps, [1])).await.unwrap();
    Scene { world, cluster, engine }
}

#[tokio::test(start_paused = true)]
async fn what_is_equal_as_the_server_stores_it_is_adopted_and_given_back_as_it_was() {
    let scene =
        met(&json!({"pods": "10", "requests.cpu": "1", "secrets": "7"}), Existing::AdoptIfEqual).await;
    let status = done(&scene.engine, &context_id()).await;
    let objects = &status.lanes[&cluster_id(1)].objects;
    assert!(objects.iter().all(|object| object.state == ObjectState::Adopted), "{objects:#?}");
    scene.engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.hard(), json!({"pods": "10", "requests.cpu": "1", "secrets": "7"}));
    assert_eq!(scene.world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_equal_is_left_alone_and_the_first_difference_named() {
    for hard in [json!({"pods": "10"}), json!({"pods": "10", "requests.cpu": "2"})] {
        let scene = met(&hard, Existing::AdoptIfEqual).await;
        let status = scene.engine.contexts().wait_until_done(&context_id()).await.unwrap();
        assert_eq!(status.progress, Progress::Stuck);
        let cause = status.lanes[&cluster_id(1)].cause.clone().unwrap();
        let told = r#"it was there before, and is not as desired: spec.hard["requests.cpu"] differs"#;
        assert_eq!((cause.reason, cause.message), (Reason::Foreign, Arc::from(told)));
        assert_eq!(scene.hard(), hard);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_overwritten_is_ours_to_correct_and_is_never_deleted() {
    let scene = met(&json!({"pods": "99", "secrets": "7"}), Existing::Overwrite).await;
    done(&scene.engine, &context_id()).await;
    let wanted = json!({"pods": "10", "requests.cpu": "1", "secrets": "7"});
    assert_eq!(scene.hard(), wanted);
    let mut events = scene.engine.events();
    scene.edit("person", &json!({"spec": {"hard": {"pods": "98"}}}));
    assert_eq!(corrected(&mut events).await, quota().1);
    assert_eq!(scene.hard(), wanted);
    scene.engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.hard()["secrets"], "7");
}

#[tokio::test(start_paused = true)]
async fn of_an_adopted_object_others_may_change_what_they_like_and_that_is_reported() {
    let scene = met(&json!({"pods": "10", "requests.cpu": "1"}), Existing::Adopt).await;
    done(&scene.engine, &context_id()).await;
    let writes = scene.writes();
    scene.edit("person", &json!({"spec": {"hard": {"pods": "11"}}}));
    tokio::time::sleep(SOON).await;
    assert_eq!((scene.writes(), &scene.hard()["pods"]), (writes, &json!("11")));
    assert_eq!(&*scene.drift().await.unwrap().message, "spec.hard.pods is held by person");
}
