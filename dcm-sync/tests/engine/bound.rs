//! An apply that is bound to what was planned does that, or halts where something is not as it was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::{AppContext, Drift, Existing, Generation, Request, Step, TokenRequest};
use dcm_core::manifest::{Manifest, ObjectKey};
use dcm_core::plan::{Desired, Observed};
use dcm_core::port::store::{Path, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Condition, Disposal, Error, PlannedState, Removal, Synchronizer as _};
use dcm_core::status::{LaneState, LaneStatus, Progress, Reason};
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::planning::Rehearsing;
use dcm_sync::sim::{Faults, Logged, Rights, Server, Verb, cluster_id};
use dcm_sync::tap::ClusterChange;
use serde_json::{Value, json};

use crate::fixture::*;
use crate::gates::{Gate, engine_behind, is_token};
use crate::slow::{Lanes, world_with};

const SOMEBODY: &str = "kubectl-edit";

/// A quota, a role and an account.
fn steps_with(pods: &str, verbs: &[&str]) -> Vec<Step> {
    vec![
        apply(0, namespace_body("team")),
        apply(1, quota_body(&json!({"pods": pods}))),
        apply(1, role_body("reader", verbs)),
        apply(1, account_body("ci")),
    ]
}

fn first() -> AppContext {
    context(steps_with("10", &["get"]), 1..=2)
}

fn second() -> AppContext {
    context(steps_with("20", &["get", "list"]), 1..=2)
}

/// What is seen of clusters now, and bound to when this is applied next.
fn planned(world: &World, wanted: &AppContext, generation: u64) -> Condition {
    let labels = Arc::new(BTreeMap::new());
    let mut all = BTreeMap::new();
    for (cluster, bundle) in &wanted.placements {
        let server = world.fleet.cluster(cluster).unwrap();
        let object = |kind: &_, key: &_| server.server(|server| server.object(kind, key).unwrap());
        let mut observed = Observed::new(world.uid_of(cluster));
        for manifest in bundle.manifests() {
            match object(manifest.kind(), manifest.key()) {
                None => observed.absent(manifest.kind(), manifest.key()),
                Some(found) => {
                    let desired = Desired { manifest: manifest.clone(), labels: labels.clone() };
                    observed.present(&found, Some(&desired));
                }
            }
        }
        all.insert(cluster.clone(), observed.state());
    }
    let (generation, wanted) = (Generation(generation), wanted.hash_as_planned());
    Condition::AsPlanned(PlannedState { generation, wanted, observed: all })
}

/// What is seen of the first cluster when it is to hold nothing any more.
fn left(world: &World) -> Arc<str> {
    let mut observed = Observed::new(world.uid(1));
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let ours: Vec<_> =
        cluster.server(|server| server.objects().filter(|object| object.marks.is_some()).collect());
    ours.iter().for_each(|object| observed.present(object, None));
    observed.state()
}

fn edit(world: &World, number: usize, body: Value, patch: &Value) {
    let manifest = Manifest::new(body).unwrap();
    let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
    cluster.server(|server| server.edit_as(SOMEBODY, manifest.kind(), manifest.key(), patch)).unwrap();
}

fn verbs(world: &World, number: usize) -> Value {
    let role = Manifest::new(role_body("reader", &[])).unwrap();
    world.body(number, role.kind(), role.key()).unwrap()["rules"][0]["verbs"].clone()
}

/// A world in which the first one was brought about.
async fn applied() -> (World, Engine) {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply(&first()).await.unwrap();
    done(&engine, &context_id()).await;
    (world, engine)
}

/// Waits until a cluster halts, since it is not as planned.
async fn halted(engine: &Engine, number: usize) {
    let is_so = |status: &dcm_core::status::ContextStatus| {
        let cause = status.lanes.get(&cluster_id(number)).and_then(|lane| lane.cause.as_ref());
        cause.is_some_and(|cause| cause.reason == Reason::PlanStale)
    };
    until(engine, is_so).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_as_planned_is_done() {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply_on(&first(), &planned(&world, &first(), 1)).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply_on(&second(), &planned(&world, &second(), 2)).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!((verbs(&world, 1), verbs(&world, 2)), (json!(["get", "list"]), json!(["get", "list"])));
}

/// What is taken away goes, though a namespace of somebody else holds up the rest: nobody has looked, nor looks, into that.
#[tokio::test(start_paused = true)]
async fn what_is_in_a_namespace_of_somebody_else_is_no_part_of_a_plan() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps_with("10", &["get", "list"]), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "bank"}});
    for body in [namespace_body("bank"), map.clone()] {
        let manifest = Manifest::new(body).unwrap();
        let create = |server: &mut Server| {
            server.create_as(SOMEBODY, manifest.kind(), manifest.key(), manifest.body())
        };
        cluster.server(create).unwrap();
    }
    let mut wanted = steps_with("10", &["get"]);
    wanted.extend([apply(0, namespace_body("bank")), apply(1, map)]);
    let planned = engine.planner().plan_one(context(wanted, [1]), Rehearsing::Writes).await.unwrap();
    cluster.server(|server| server.requests_mut().clear());
    let condition = Condition::AsPlanned(planned.state());
    engine.contexts().apply_on(&planned.context, &condition).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    let cause = status.lanes[&cluster_id(1)].cause.clone().unwrap();
    assert_eq!(cause.reason, Reason::Foreign, "{status:#?}");
    until_so(|| verbs(&world, 1) == json!(["get"])).await;
    let is_inside = |key: &ObjectKey| key.namespace.as_deref() == Some("bank");
    let asked = cluster.server(|server| {
        server.requests().lines().filter_map(|line| line.key.clone()).filter(is_inside).collect::<Vec<_>>()
    });
    assert_eq!(asked, []);
}

#[tokio::test(start_paused = true)]
async fn what_certificates_are_asked_for_with_is_no_part_of_a_plan() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    // The request for a certificate is all that is written twice: it is made, and approved.
    cluster.set_faults(Faults { conflict: 1000, ..Faults::NONE });
    let approvals = Gate::open(|change| matches!(change, ClusterChange::Approve(_)));
    let engine = engine_behind(&world, [&approvals]);
    let wanted = context(steps(), [1]);
    engine.contexts().apply_on(&wanted, &planned(&world, &wanted, 1)).await.unwrap();
    // After each refusal it is looked at before the next try.
    for _ in 0..3 {
        approvals.asked().await;
    }
    let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert_eq!(status.progress, Progress::Working, "{status:#?}");
    cluster.set_faults(Faults::NONE);
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_what_is_planned_makes_it_stale_and_nothing_is_stored() {
    let (world, engine) = applied().await;
    let binding = planned(&world, &second(), 2);
    let removal = Removal { objects: Some(Disposal::Keep), ..Removal::default() };
    let labels = BTreeMap::from([("example.com/team".to_owned(), "a".to_owned())]);
    let before = world.store_state().await;
    for other in [
        AppContext { removal, ..second() },
        AppContext { labels, ..second() },
        context(steps_with("30", &["get", "list"]), 1..=2),
        context(steps_with("20", &["get", "list"]), [1]),
    ] {
        let refused = engine.contexts().apply_on(&other, &binding).await;
        assert!(matches!(refused, Err(Error::Stale { .. })), "{other:?}: {refused:?}");
    }
    assert_eq!(world.store_state().await, before);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_not_as_planned_halts_alone_and_nothing_is_written_to_it() {
    let (world, engine) = applied().await;
    let binding = planned(&world, &second(), 2);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let writes = || cluster.server(|server| server.requests().writes());
    engine.shutdown().await;
    edit(&world, 1, role_body("reader", &[]), &json!({"rules": []}));
    let (before, engine) = (writes(), world.engine());
    engine.contexts().apply_on(&second(), &binding).await.unwrap();
    halted(&engine, 1).await;
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    assert_eq!(status.lanes[&cluster_id(2)].state, LaneState::Done);
    assert_eq!((writes(), verbs(&world, 2)), (before, json!(["get", "list"])));
    // Also a worker that knows nothing of it yet.
    engine.shutdown().await;
    let engine = world.engine();
    // It is stuck before and after: that no write comes is all there is to see.
    tokio::time::sleep(SOON).await;
    assert_eq!(writes(), before);
    // Whoever applies without a plan wants it whatever the cluster is like.
    engine.contexts().apply(&second()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]));
}

/// The second one, on the first cluster alone.
fn second_alone() -> AppContext {
    context(steps_with("20", &["get", "list"]), [1])
}

/// Goes on until somebody has looked at what is bound to a plan, and found it so: nothing is written yet.
async fn until_looked(world: &World, lanes: &Lanes, change: impl Future<Output = ()>) {
    let reads = || world.requests(|log| log.count(Verb::Get));
    let before = reads();
    let looked = async {
        change.await;
        while reads() < before + 4 {
            lanes.commit_begun.notified().await;
        }
    };
    tokio::time::timeout(SOON, looked).await.unwrap();
}

/// Applies it on what is seen of the cluster now.
async fn apply_until_looked(world: &World, lanes: &Lanes, engine: &Engine, generation: u64) {
    let binding = planned(world, &second_alone(), generation);
    let change = async { engine.contexts().apply_on(&second_alone(), &binding).await.map(|_| ()).unwrap() };
    until_looked(world, lanes, change).await;
}

/// A change that is bound, in the middle of which somebody does something.
async fn in_the_middle(patch: Value, body: Value) -> (World, Engine) {
    let (world, lanes) = world_with(Duration::from_millis(200));
    let engine = world.engine();
    engine.contexts().apply(&context(steps_with("10", &["get"]), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    apply_until_looked(&world, &lanes, &engine, 2).await;
    edit(&world, 1, body, &patch);
    (world, engine)
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changes_between_the_look_and_the_write_is_not_written_over() {
    let (world, engine) = in_the_middle(json!({"rules": []}), role_body("reader", &[])).await;
    halted(&engine, 1).await;
    assert_eq!(verbs(&world, 1), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_in_the_middle_goes_on_when_the_same_is_asked_for_again() {
    let (world, lanes) = world_with(Duration::from_millis(200));
    let engine = world.engine();
    engine.contexts().apply(&context(steps_with("10", &["get"]), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    let rules = |rules: Value| edit(&world, 1, role_body("reader", &[]), &json!({"rules": rules}));
    rules(json!([]));
    let binding = planned(&world, &second_alone(), 2);
    engine.contexts().apply_on(&second_alone(), &binding).await.unwrap();
    let engine = world.engine();
    until_looked(&world, &lanes, async {}).await;
    rules(json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["watch"]}]));
    halted(&engine, 1).await;
    rules(json!([]));
    engine.contexts().apply_on(&second_alone(), &binding).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]));
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_between_the_look_and_the_write_is_not_deleted() {
    let (world, lanes) = world_with(Duration::from_millis(200));
    let engine = world.engine();
    let mut more = steps_with("10", &["get"]);
    more.push(apply(1, role_body("writer", &["create"])));
    engine.contexts().apply(&context(more, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let copy = cluster.snapshot();
    engine.contexts().apply(&context(steps_with("10", &["get"]), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    apply_until_looked(&world, &lanes, &engine, 3).await;
    // The role that went with the change before is there again.
    cluster.restore(&copy);
    halted(&engine, 1).await;
    assert_eq!(world.owned(1).len(), 5);
}

fn is_deletion_of_account(change: &ClusterChange<'_>) -> bool {
    matches!(change, ClusterChange::Delete(kind, _) if &*kind.kind == "ServiceAccount")
}

/// The steps, another account, and a token of that.
fn with_token(mut steps: Vec<Step>) -> AppContext {
    let token =
        TokenRequest { namespace: "team".into(), service_account: "bot".into(), lifetime_seconds: None };
    steps.extend([apply(1, account_body("bot")), request(2, "bot", Request::Token(token))]);
    context(steps, [1])
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_under_way_is_awaited_before_anything_is_done_as_planned() {
    let world = World::new(1);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let (tokens, deletions) = (Gate::shut(is_token), Gate::shut(is_deletion_of_account));
    let engine = engine_behind(&world, [&tokens, &deletions]);
    let account = Manifest::new(account_body("ci")).unwrap();
    let uid = || {
        cluster.server(|server| server.object(account.kind(), account.key()).unwrap()).map(|found| found.uid)
    };
    engine.contexts().apply(&with_token(steps_with("10", &["get"]))).await.unwrap();
    tokens.asked().await;
    let first = uid();
    assert!(first.is_some());
    // A token is being issued when the account is deleted, and that comes late.
    let mut less = steps_with("10", &["get"]);
    less.pop();
    engine.contexts().apply(&with_token(less)).await.unwrap();
    deletions.asked().await;
    deletions.let_pass_late(cluster).await;
    let sent = world.clock.now();
    let wanted = with_token(steps_with("20", &["get", "list"]));
    engine.contexts().apply_on(&wanted, &planned(&world, &wanted, 3)).await.unwrap();
    tokens.let_pass();
    done(&engine, &context_id()).await;
    let awaited = sent..sent + Options::default().request_limit;
    let is_early = |line: &&Logged| line.verb == Verb::Update && awaited.contains(&line.at);
    let early = cluster.server(|server| server.requests().lines().filter(is_early).count());
    assert_eq!(early, 0, "it was not awaited");
    until_so(|| cluster.server(|server| server.requests().count(Verb::Delete)) > 0).await;
    assert_eq!(uid(), first, "it was deleted when all was done");
}

#[tokio::test(start_paused = true)]
async fn what_the_cluster_reports_meanwhile_changes_nothing() {
    let used = json!({"status": {"used": {"pods": "3"}}});
    let (world, engine) = in_the_middle(used, quota_body(&json!({}))).await;
    done(&engine, &context_id()).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]));
}

#[tokio::test(start_paused = true)]
async fn another_change_that_came_first_makes_it_stale() {
    let (world, engine) = applied().await;
    let binding = planned(&world, &second(), 2);
    engine.contexts().apply(&context(steps_with("30", &["get"]), 1..=2)).await.unwrap();
    let stale = engine.contexts().apply_on(&second(), &binding).await;
    assert!(matches!(stale, Err(Error::Stale { .. })), "{stale:?}");
    assert_eq!(done(&engine, &context_id()).await.generation, Generation(2));
}

/// Neither in what it changed, nor in what it left.
#[tokio::test(start_paused = true)]
async fn once_it_is_done_it_binds_nobody_any_more() {
    let world = World::new(1);
    let engine = world.engine();
    let with_writer = |mut steps: Vec<Step>| {
        steps.push(apply(1, role_body("writer", &["create"])));
        context(steps, [1])
    };
    engine.contexts().apply(&with_writer(steps_with("10", &["get"]))).await.unwrap();
    done(&engine, &context_id()).await;
    let wanted = with_writer(steps_with("20", &["get", "list"]));
    engine.contexts().apply_on(&wanted, &planned(&world, &wanted, 2)).await.unwrap();
    done(&engine, &context_id()).await;
    let spoil = |role: &str| edit(&world, 1, role_body(role, &[]), &json!({"rules": []}));
    let mut events = engine.events();
    for role in ["reader", "writer"] {
        spoil(role);
        event(&mut events, |what| matches!(what, What::Corrected(_))).await;
    }
    engine.shutdown().await;
    spoil("reader");
    let engine = world.engine();
    let mut events = engine.events();
    event(&mut events, |what| matches!(what, What::Corrected(_))).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]));
}

/// A change that halts on the first cluster, and is done on the other.
async fn halted_change() -> (World, Engine) {
    let (world, engine) = applied().await;
    let planned = planned(&world, &second(), 2);
    engine.shutdown().await;
    edit(&world, 1, role_body("reader", &[]), &json!({"rules": []}));
    let engine = world.engine();
    engine.contexts().apply_on(&second(), &planned).await.unwrap();
    halted(&engine, 1).await;
    until(&engine, |status| status.progress == Progress::Stuck).await;
    (world, engine)
}

/// A namespace and a role, whatever is there.
fn overwriting() -> AppContext {
    let steps = vec![
        apply_with(0, namespace_body("team"), Existing::Overwrite, Drift::default()),
        apply_with(1, role_body("reader", &["get"]), Existing::Overwrite, Drift::default()),
    ];
    context(steps, 1..=2)
}

/// What somebody else may have made where those are to be.
fn theirs() -> [Manifest; 2] {
    [namespace_body("team"), role_body("reader", &["delete"])].map(|body| Manifest::new(body).unwrap())
}

/// Somebody makes an object on the first cluster.
fn make(world: &World, manifest: &Manifest) {
    let (kind, key) = (manifest.kind(), manifest.key());
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.create_as(SOMEBODY, kind, key, manifest.body())).unwrap();
}

#[tokio::test(start_paused = true)]
async fn also_the_first_apply_halts_where_something_came_and_goes_on_when_that_went_and_it_is_asked_for_again()
 {
    let world = World::new(2);
    let engine = world.engine();
    let wanted = overwriting();
    let [namespace, role] = theirs();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    make(&world, &namespace);
    let planned = planned(&world, &wanted, 1);
    make(&world, &role);
    engine.contexts().apply_on(&wanted, &planned).await.unwrap();
    halted(&engine, 1).await;
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    assert_eq!(status.lanes[&cluster_id(2)].state, LaneState::Done);
    assert_eq!(verbs(&world, 1), json!(["delete"]));
    cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    engine.contexts().apply_on(&wanted, &planned).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(verbs(&world, 1), json!(["get"]));
}

/// Waits until the context is stuck in this attempt of so many that were asked for: all of them were answered.
async fn stuck_again(engine: &Engine) {
    let waited = tokio::time::timeout(SOON, engine.contexts().wait_until_done(&context_id())).await;
    let status = waited.unwrap().unwrap();
    assert_eq!(status.progress, Progress::Stuck);
}

#[tokio::test(start_paused = true)]
async fn who_asks_again_for_what_halts_is_told_that_it_still_does_or_sees_it_go_on() {
    let (world, engine) = halted_change().await;
    let other = json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["watch"]}]});
    let planned = planned(&world, &second(), 2);
    // Another edit comes between the look and the apply, time and again.
    edit(&world, 1, role_body("reader", &[]), &other);
    engine.contexts().apply_on(&second(), &planned).await.unwrap();
    stuck_again(&engine).await;
    engine.contexts().apply_on(&second(), &planned).await.unwrap();
    stuck_again(&engine).await;
    // And is taken back.
    edit(&world, 1, role_body("reader", &[]), &json!({"rules": []}));
    engine.contexts().apply_on(&second(), &planned).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_left_halts_too_and_is_cleared_when_that_is_planned_again() {
    let (world, engine) = applied().await;
    let less = context(steps_with("10", &["get"]), [2]);
    let seen = || {
        let Condition::AsPlanned(mut state) = planned(&world, &less, 2) else { unreachable!() };
        state.observed.insert(cluster_id(1), left(&world));
        Condition::AsPlanned(state)
    };
    let stale = seen();
    engine.shutdown().await;
    edit(&world, 1, role_body("reader", &[]), &json!({"rules": []}));
    let engine = world.engine();
    engine.contexts().apply_on(&less, &stale).await.unwrap();
    halted(&engine, 1).await;
    stuck_again(&engine).await;
    assert_eq!(world.owned(1).len(), 4, "nothing was deleted");
    engine.contexts().apply_on(&less, &seen()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn newer_credentials_lift_no_halt_and_bind_no_cluster_that_is_done() {
    let (world, engine) = halted_change().await;
    let token =
        TokenRequest { namespace: "team".into(), service_account: "ci".into(), lifetime_seconds: Some(3600) };
    let mut renewed = steps_with("20", &["get", "list"]);
    renewed.push(request(2, "ci", Request::Token(token)));
    engine.contexts().apply_on(&context(renewed, 1..=2), &Condition::AsBefore).await.unwrap();
    let mut events = engine.events();
    event(&mut events, |what| *what == What::Issued("ci".into())).await;
    halted(&engine, 1).await;
    edit(&world, 2, role_body("reader", &[]), &json!({"rules": []}));
    event(&mut events, |what| matches!(what, What::Corrected(_))).await;
    assert_eq!((verbs(&world, 1), verbs(&world, 2)), (Value::Null, json!(["get", "list"])));
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_over_again_with_its_plan_goes_on_where_it_has_begun() {
    let (world, engine) = applied().await;
    let planned = planned(&world, &second(), 2);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.set_rights(Rights::AllBut(vec![to_quotas("patch")])));
    engine.contexts().apply_on(&second(), &planned).await.unwrap();
    until(&engine, |status| status.progress == Progress::Stuck).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]), "it has begun");
    assert_eq!(engine.contexts().apply_on(&second(), &planned).await.unwrap(), Generation(2));
    cluster.server(|server| server.set_rights(Rights::All));
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_restored_is_reconciled_whatever_was_planned() {
    let (world, engine) = applied().await;
    engine.shutdown().await;
    engine.contexts().apply_on(&second(), &planned(&world, &second(), 2)).await.unwrap();
    let copy = world.copy().await;
    let engine = world.engine();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&first()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    let world = world.restored(&copy).await;
    let engine = world.engine();
    let is_behind =
        |lane: &LaneStatus| lane.cause.as_ref().is_some_and(|cause| cause.reason == Reason::StoreBehind);
    until(&engine, |status| status.lanes.values().all(is_behind)).await;
    engine.contexts().reconcile(&context_id()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(verbs(&world, 1), json!(["get", "list"]));
}

#[tokio::test(start_paused = true)]
async fn what_was_planned_for_another_cluster_binds_nobody_on_the_one_that_was_accepted() {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply(&first()).await.unwrap();
    done(&engine, &context_id()).await;
    let planned = planned(&world, &second(), 2);
    engine.contexts().apply_on(&second(), &planned).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    let elsewhere = world.with_other_clusters();
    let engine = elsewhere.engine();
    for number in [1, 2] {
        engine.contexts().accept_cluster(&cluster_id(number), &elsewhere.uid(number)).await.unwrap();
    }
    done(&engine, &context_id()).await;
    assert_eq!(
        (verbs(&elsewhere, 1), verbs(&elsewhere, 2)),
        (json!(["get", "list"]), json!(["get", "list"]))
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_checked_before_a_context_was_forgotten_says_nothing_of_the_one_that_came_after_it() {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply_on(&overwriting(), &planned(&world, &overwriting(), 1)).await.unwrap();
    done(&engine, &context_id()).await;
    let lane = Path::new(format!("lanes/lc-1/{}", cluster_id(1))).unwrap();
    let checked = world.store.get(&lane).await.unwrap().unwrap();
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().forget(&context_id()).await.unwrap();
    engine.shutdown().await;
    // A worker that was cut off stores what it knew.
    world.store.write_one(Write::Create { path: lane, document: checked.document }).await.unwrap();
    let planned = planned(&world, &overwriting(), 3);
    theirs().iter().for_each(|manifest| make(&world, manifest));
    let engine = world.engine();
    assert_eq!(engine.contexts().apply_on(&overwriting(), &planned).await.unwrap(), Generation(3));
    halted(&engine, 1).await;
    assert_eq!(verbs(&world, 1), json!(["delete"]));
}
