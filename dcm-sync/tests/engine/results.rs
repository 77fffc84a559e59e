//! What clusters issue is stored once and never lost.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dcm_core::app_context::{Action, Request, Stage, Step, TokenRequest};
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::store::{BATCH_WRITES_MAX, Change, Prefix, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Issued, Removal, Synchronizer as _};
use dcm_core::secret::Secret;
use dcm_core::status::{Progress, Reason, RequestState};
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::sim::{Link, Verb, cluster_id};
use dcm_sync::tap::ClusterChange;
use futures::{StreamExt as _, future};
use serde_json::json;

use crate::fixture::*;
use crate::gates::{Gate, engine_behind, is_token};
use crate::slow::{Lanes, is_of_lane, world_with};

/// How long a write to a slow store takes: much longer than a request to a cluster.
const SLOW: Duration = Duration::from_millis(50);

fn token(name: &str) -> Step {
    let token =
        TokenRequest { namespace: "team".into(), service_account: "ci".into(), lifetime_seconds: Some(3600) };
    request(2, name, Request::Token(token))
}

fn tokens_issued(world: &World) -> u64 {
    world.requests(|log| log.count(Verb::IssueToken))
}

#[tokio::test(start_paused = true)]
async fn a_lane_is_stored_four_times_on_its_way() {
    let (world, lanes) = world_with(Duration::ZERO);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(
        lanes.writes.load(Ordering::Relaxed),
        3,
        "before the first request, with the token, and at the end"
    );
    engine.contexts().wait_until_tidy(&context_id()).await.unwrap();
    assert_eq!(lanes.writes.load(Ordering::Relaxed), 4, "when the answered request is cleared away");
}

#[tokio::test(start_paused = true)]
async fn what_is_issued_while_another_result_is_being_stored_is_stored_too() {
    let (world, _) = world_with(SLOW);
    let engine = world.engine();
    let steps = steps().into_iter().chain([token("second"), token("third")]).collect();
    engine.contexts().apply(&context(steps, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let results = engine.contexts().results(&context_id()).await.unwrap();
    let names: Vec<&str> = results[&cluster_id(1)].keys().map(|name| &**name).collect();
    assert_eq!(names, ["ci", "developer", "second", "third"]);
    assert_eq!(tokens_issued(&world), 3);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_answered_while_the_engine_stops_is_stored() {
    let (world, _) = world_with(SLOW);
    let tokens = Gate::shut(is_token);
    let engine = engine_behind(&world, [&tokens]);
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    tokens.asked().await;
    let mut stop = pin!(engine.shutdown());
    // Longer than it takes to give the cluster back.
    assert!(tokio::time::timeout(4 * SLOW, &mut stop).await.is_err(), "nobody waits for the answer");
    tokens.let_pass();
    tokio::time::timeout(SOON, stop).await.unwrap();
    let results = world.engine().contexts().results(&context_id()).await.unwrap();
    let stored = results.get(&cluster_id(1)).map_or(0, BTreeMap::len);
    assert!(stored >= 1, "{results:?}");
    let engine = world.engine();
    done(&engine, &context_id()).await;
    assert_eq!(tokens_issued(&world), 1, "the token was asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_somebody_else_wrote_is_read_until_that_succeeds() {
    let (world, lanes) = world_with(SLOW);
    let engine = world.engine();
    let changes = lanes.store.watch(&Prefix::everything()).await.unwrap();
    let lane = changes.filter_map(|change| match change {
        Change::Put(entry) if is_of_lane(&entry.path) => future::ready(Some(entry)),
        _ => future::ready(None),
    });
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let lane = tokio::time::timeout(SOON, pin!(lane).next()).await.unwrap().unwrap();
    lanes.failing_reads.store(3, Ordering::Relaxed);
    let again = Write::Update { path: lane.path, version: lane.version, document: lane.document };
    lanes.store.write_one(again).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(lanes.failing_reads.load(Ordering::Relaxed), 0, "the engine had to read it");
}

#[tokio::test(start_paused = true)]
async fn a_token_of_an_account_that_was_replaced_is_kept_no_more_and_another_one_is_asked_for() {
    let world = World::new(1);
    let tokens = Gate::shut(is_token);
    let engine = engine_behind(&world, [&tokens]);
    let contexts = engine.contexts();
    contexts.apply(&context(steps(), [1])).await.unwrap();
    tokens.asked().await;
    tokens.let_pass();
    done(&engine, &context_id()).await;
    let token = async || match contexts.result(&context_id(), &cluster_id(1), "ci").await.unwrap() {
        Some(Issued::Token { token, .. }) => Some(token),
        other => panic!("{other:?}"),
    };
    let first = token().await.unwrap();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let is_accepted = |token: &Secret| cluster.server(|server| server.identify_token(token).is_some());
    assert!(is_accepted(&first));

    let (kind, key) = (GroupVersionKind::new("", "v1", "ServiceAccount"), account());
    cluster.server(|server| server.delete_as_other(&kind, &key)).unwrap();
    tokens.asked().await;
    let none = contexts.result(&context_id(), &cluster_id(1), "ci").await.unwrap();
    assert_eq!(none, None, "a token that no cluster accepts is not handed out");
    let status = contexts.status(&context_id()).await.unwrap().unwrap();
    let request =
        status.lanes[&cluster_id(1)].requests.iter().find(|request| &*request.name == "ci").unwrap();
    assert_eq!(request.state, RequestState::Pending);
    assert_eq!(request.cause.as_ref().map(|cause| cause.reason), Some(Reason::Lapsed));
    tokens.let_pass();
    done(&engine, &context_id()).await;
    let second = token().await.unwrap();
    assert!(second != first && is_accepted(&second));
    assert_eq!(tokens_issued(&world), 2);
}

/// The account of the token.
fn account() -> ObjectKey {
    ObjectKey::new("".into(), "ServiceAccount".into(), Some("team".into()), "ci".into())
}

fn map(stage: u16) -> Step {
    let metadata = json!({"name": format!("map-{stage}"), "namespace": "team"});
    apply(stage, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
}

fn is_deletion_of_map(change: &ClusterChange<'_>) -> bool {
    matches!(change, ClusterChange::Delete(kind, _) if &*kind.kind == "ConfigMap")
}

#[tokio::test(start_paused = true)]
async fn what_a_deletion_under_way_may_undo_is_not_done_when_an_earlier_token_is_answered() {
    let world = World::new(1);
    let (tokens, deletions) = (Gate::shut(is_token), Gate::shut(is_deletion_of_map));
    let engine = engine_behind(&world, [&tokens, &deletions]);
    let mut events = engine.events();
    let contexts = engine.contexts();
    let map = map(2);
    let wanted = context(steps().into_iter().chain([map.clone()]).collect(), [1]);
    contexts.apply(&wanted).await.unwrap();
    event(&mut events, |what| *what == What::Issued("developer".into())).await;
    contexts.remove(&context_id(), Removal::default()).await.unwrap();
    deletions.asked().await;
    contexts.apply(&wanted).await.unwrap();
    // The answer, and the request of the later generation.
    tokens.let_pass();
    event(&mut events, |what| *what == What::Issued("ci".into())).await;
    tokens.let_pass();
    // No more is done.
    tokio::time::sleep(SLOW).await;
    let status = contexts.status(&context_id()).await.unwrap().unwrap();
    assert_eq!(status.progress, Progress::Working, "{status:#?}");
    deletions.let_pass();
    done(&engine, &context_id()).await;
    let Action::Apply { manifest: map, .. } = map.action else { panic!("an object") };
    assert!(world.body(1, map.kind(), map.key()).is_some());
}

/// The certificate is issued long before it is collected, beside a token.
fn steps_with_a_long_way() -> Vec<Step> {
    let late = |step: Step| if step.stage == Stage(2) { Step { stage: Stage(9), ..step } } else { step };
    steps().into_iter().map(late).chain((2..9).map(map)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_request_stays_on_the_cluster_until_its_certificate_is_stored() {
    let (world, _) = world_with(SLOW);
    let engine = world.engine();
    let mut events = engine.events();
    engine.contexts().apply(&context(steps_with_a_long_way(), [1])).await.unwrap();
    event(&mut events, |what| matches!(what, What::Deleted(_))).await;
    let results = engine.contexts().results(&context_id()).await.unwrap();
    let stored = results.get(&cluster_id(1)).is_some_and(|results| results.contains_key("developer"));
    assert!(stored, "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn more_results_than_one_batch_of_the_store_holds_are_stored() {
    let (world, _) = world_with(SLOW);
    let engine =
        world.engine_with(Options { writes_burst: 1000, cluster_requests_max: 1000, ..Options::default() });
    let count = 3 * BATCH_WRITES_MAX;
    let tokens = (0..count).map(|number| token(&format!("token-{number}")));
    engine.contexts().apply(&context(steps().into_iter().chain(tokens).collect(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let results = engine.contexts().results(&context_id()).await.unwrap();
    assert_eq!(results[&cluster_id(1)].len(), count + 2);
    assert_eq!(tokens_issued(&world), count as u64 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_stored_without_its_record_goes_when_something_else_is_done() {
    let (world, lanes) = world_with(SLOW);
    let (engine, running) =
        world.mortal_engine(Options { writes_burst: 1000, cluster_requests_max: 1000, ..Options::default() });
    let mut events = engine.events();
    let tokens = (0..2 * BATCH_WRITES_MAX).map(|number| token(&format!("token-{number}")));
    engine.contexts().apply(&context(steps().into_iter().chain(tokens).collect(), [1])).await.unwrap();
    event(&mut events, |what| matches!(what, What::Issued(_))).await;
    lanes.fail_writes.store(true, Ordering::Relaxed);
    tokio::time::timeout(SOON, async {
        while count_results(&lanes).await < BATCH_WRITES_MAX {
            tokio::time::sleep(SLOW).await;
        }
    })
    .await
    .unwrap();
    running.abort();
    lanes.fail_writes.store(false, Ordering::Relaxed);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    tidied(&engine).await;
    assert_eq!(names(&engine).await, ["ci", "developer"]);
    assert_eq!(count_results(&lanes).await, 2);
}

/// How many results are stored.
async fn count_results(lanes: &Lanes) -> usize {
    let entries = lanes.store.list_all(&Prefix::everything()).await.unwrap();
    entries.iter().filter(|entry| entry.path.as_str().starts_with("results/")).count()
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_request_that_is_desired_no_more_stays_until_what_takes_its_place_is_done() {
    let world = World::new(1);
    let engine = world.engine();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ci", "namespace": "team"}});
    let with = |name: &str| vec![apply(0, namespace_body("team")), apply(1, account.clone()), token(name)];
    engine.contexts().apply(&context(with("first"), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.set_link(Link::Cut);
    engine.contexts().apply(&context(with("second"), [1])).await.unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!(names(&engine).await, ["first"], "it is all there is");
    cluster.set_link(Link::Up);
    done(&engine, &context_id()).await;
    assert_eq!(names(&engine).await, ["second"]);
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(names(&engine).await, Vec::<String>::new());
}

/// The names of the results that are kept.
async fn names(engine: &Engine) -> Vec<String> {
    let results = engine.contexts().results(&context_id()).await.unwrap();
    results.into_values().flat_map(BTreeMap::into_keys).map(|name| name.to_string()).collect()
}
