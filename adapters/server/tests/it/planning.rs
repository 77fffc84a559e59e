//! Plans on simulated clusters: what would be done, what would be refused, and when a plan's hash is another one.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{World, everything, spec};
use dcm_core::app_context::AppContext;
use dcm_core::causes::Reader;
use dcm_core::logical_cloud::{AccountSeed, Epoch, Serial};
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId, UserName};
use dcm_core::plan::{PlanHash, Rehearsal, Step, Work};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::store::Path;
use dcm_core::render::naming::Identity;
use dcm_core::render::{self, Credential};
use dcm_core::status::Reason;
use dcm_sync::engine::Acquire;
use dcm_sync::planning::{LivePlan, Planned, Rehearsing};
use dcm_sync::sim::{Link, Verb, cluster_id};
use serde_json::{Value, json};
use tokio::time::Instant;

/// The cloud's document, on so many clusters.
fn on(clusters: usize, mut spec: Value) -> Value {
    let reference = |number: usize| json!({"provider": "sim", "cluster": format!("cluster-{number}")});
    spec["clusters"] = (1..=clusters).map(reference).collect();
    spec
}

/// Plans the cloud as its documents are, or on none of its clusters.
async fn planned(world: &World, placed: bool) -> Planned {
    let context = context(world, placed).await;
    world.deployment.planner().plan_one(context, Rehearsing::Writes).await.unwrap()
}

/// What an apply of the cloud would hand over, or where it were on none of its clusters.
async fn context(world: &World, placed: bool) -> AppContext {
    let described = world.deployment.clouds().get(&world.project, &world.cloud).await.unwrap();
    let cloud = &described.cloud;
    let root = Path::new(format!("logical-clouds/{}/{}", world.project, world.cloud)).unwrap();
    let root: Value = world.store.get(&root).await.unwrap().unwrap().document.read().unwrap();
    let accounts: AccountSeed = root["accounts"].as_str().unwrap().parse().unwrap();
    let credential = |name: &str| {
        let credential = Credential { epoch: Epoch(1), serial: Serial(1), request: None, accounts };
        (UserName::new(name).unwrap(), credential)
    };
    let bundle = Arc::new(render::bundle(cloud, &["ann", "ci"].map(credential).into()).unwrap());
    let references = cloud.references().iter().filter(|_| placed);
    let identity = Identity::of(cloud);
    AppContext {
        id: identity.context_id(),
        labels: identity.labels(),
        removal: cloud.removal(),
        placements: references.map(|reference| (reference.cluster.clone(), bundle.clone())).collect(),
    }
}

async fn plan_on(world: &World, cluster: &ClusterId) -> LivePlan {
    planned(world, true).await.clusters.remove(cluster).unwrap().unwrap()
}

fn word(step: &Step) -> String {
    let word = match &step.work {
        Work::Create { .. } | Work::Unrecord => "create",
        Work::Update { .. } => "update",
        Work::Delete { .. } => "delete",
        Work::Count { .. } => "count",
        Work::Request { .. } => "request",
        Work::Blocked(cause) if cause.reason == Reason::StoreBehind => "behind",
        Work::Blocked(cause) if cause.reason == Reason::Foreign => "foreign",
        _ => "other",
    };
    format!("{word} {}", step.key.kind)
}

fn words(live: &LivePlan) -> Vec<String> {
    live.plan.steps().iter().map(word).collect()
}

async fn words_after(world: &World, spec: Value) -> Vec<String> {
    world.put(spec).await;
    words(&plan_on(world, &cluster_id(1)).await)
}

fn hash(planned: &Planned) -> PlanHash {
    planned.hash()
}

/// Somebody else changes the quota on a cluster.
fn edit(world: &World, cluster: &ClusterId, patch: &Value) {
    world.fleet.cluster(cluster).unwrap().server(|server| {
        let quota = server.objects().find(|one| &*one.kind.kind == "ResourceQuota").unwrap();
        server.edit_as("person", &quota.kind, &quota.key, patch).unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn a_live_plan_makes_then_leaves_alone_then_changes_and_removes() {
    let world = World::new(1).await;
    let mut made = words_after(&world, spec(&everything())).await;
    let kinds = ["Namespace", "ResourceQuota", "LimitRange", "ServiceAccount", "Role", "RoleBinding"];
    let mut expected: Vec<String> = kinds.iter().map(|kind| format!("create {kind}")).collect();
    expected.push("request ServiceAccount".to_owned());
    made.sort();
    expected.sort();
    assert_eq!(made, expected);
    assert_eq!(world.owned(), 0);

    let engine = world.deployment.engine(Acquire::All);
    world.apply().await;
    world.done().await;
    assert_eq!(words_after(&world, spec(&everything())).await, Vec::<String>::new());
    let mut changed = spec(&everything());
    changed["permissions"][0]["verbs"] = json!(["get"]);
    changed["quotas"][0]["name"] = "renamed".into();
    let expected = ["create ResourceQuota", "update Role", "delete ResourceQuota"];
    assert_eq!(words_after(&world, changed).await, expected);
    let removed = planned(&world, false).await.clusters.remove(&cluster_id(1)).unwrap().unwrap();
    assert!(words(&removed).contains(&"count Namespace".to_owned()), "{removed:?}");
    engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_shows_what_the_engine_would_refuse() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    let engine = world.deployment.engine(Acquire::All);
    world.apply().await;
    world.done().await;
    engine.shutdown().await;
    let kind = GroupVersionKind::new("", "v1", "Namespace");
    let key = ObjectKey::of_kind(&kind, None, "c");
    world.written_later(&kind, &key, 9).await;
    let live = plan_on(&world, &cluster_id(1)).await;
    assert_eq!(words(&live), ["behind Namespace"]);
    assert!(!live.is_replaced);

    let uid = ClusterUid("another".into());
    world.deployment.contexts().accept_cluster(&cluster_id(1), &uid).await.unwrap();
    let live = plan_on(&world, &cluster_id(1)).await;
    assert!(live.is_replaced && *live.observed.identity() != uid, "{live:?}");
}

#[tokio::test(start_paused = true)]
async fn the_hash_changes_with_a_field_of_ours_on_any_cluster_and_with_nothing_else() {
    let world = World::new(3).await;
    world.put(on(3, spec(&everything()))).await;
    let engine = world.deployment.engine(Acquire::All);
    world.apply().await;
    world.done().await;
    engine.shutdown().await;
    let before = hash(&planned(&world, true).await);
    assert_eq!(hash(&planned(&world, true).await), before);
    edit(&world, &cluster_id(2), &json!({"status": {"used": {"limits.cpu": "1"}}}));
    edit(&world, &cluster_id(3), &json!({"metadata": {"annotations": {"theirs": "a"}}}));
    assert_eq!(hash(&planned(&world, true).await), before);
    // A cluster has one byte of the hash: one of 256 changes is not told of it.
    let mut told = BTreeSet::new();
    for cpus in 9..13 {
        edit(&world, &cluster_id(2), &json!({"spec": {"hard": {"limits.cpu": cpus.to_string()}}}));
        let now = planned(&world, true).await;
        let difference = now.changes_since(&before).unwrap();
        assert!(!difference.wanted && hash(&now) != before);
        told.extend(difference.clusters.into_iter().map(|(_, cluster)| cluster.clone()));
    }
    assert_eq!(told, BTreeSet::from([cluster_id(2)]));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_can_not_be_reached_is_part_of_the_plan_by_its_name() {
    let world = World::new(3).await;
    world.put(on(3, spec(&everything()))).await;
    let before = hash(&planned(&world, true).await);
    world.fleet.cluster(&cluster_id(2)).unwrap().set_link(Link::Cut);
    let cut = planned(&world, true).await;
    let is_known: Vec<bool> = cut.clusters.values().map(Result::is_ok).collect();
    assert_eq!((is_known, cut.clusters.len()), (vec![true, false, true], 3));
    assert_ne!(hash(&cut), before);
    assert_eq!(hash(&planned(&world, true).await), hash(&cut));
    assert_eq!(world.owned(), 0);
}

/// What a dry run gave for the object of a kind.
fn rehearsed<'a>(live: &'a LivePlan, kind: &str) -> &'a Rehearsal {
    live.rehearsals.iter().find(|(key, _)| &*key.kind == kind).unwrap().1.as_ref().unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_write_is_rehearsed_and_what_can_not_be_is_marked_so() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    let live = plan_on(&world, &cluster_id(1)).await;
    assert_eq!(*rehearsed(&live, "Namespace"), Rehearsal::Changes(Vec::new()));
    let later = Rehearsal::Unchecked("can't be checked before its namespace exists".into());
    assert_eq!(*rehearsed(&live, "ResourceQuota"), later);
    assert_eq!(world.owned(), 0);

    let engine = world.deployment.engine(Acquire::All);
    world.apply().await;
    world.done().await;
    engine.shutdown().await;
    let mut changed = spec(&everything());
    changed["quotas"][0]["hard"] = json!({"limits.cpu": "2000m", "pods": 3});
    world.put(changed).await;
    let before = world.fleet.cluster(&cluster_id(1)).unwrap().server(|server| server.revision());
    let live = plan_on(&world, &cluster_id(1)).await;
    let Rehearsal::Changes(changes) = rehearsed(&live, "ResourceQuota") else { panic!("{live:?}") };
    let expected = json!([
        {"path": r#"spec.hard["limits.cpu"]"#, "before": "1", "after": "2"},
        {"path": "spec.hard.pods", "before": null, "after": "3"},
    ]);
    assert_eq!(serde_json::to_value(changes).unwrap(), expected);
    let after = world.fleet.cluster(&cluster_id(1)).unwrap().server(|server| server.revision());
    assert_eq!(after, before, "nothing is written");
}

/// The cloud with one config map beside what is rendered.
fn with_config_map(name: &str) -> Value {
    let mut wanted = spec(&everything());
    wanted["manifests"] = json!([config_map(name)]);
    wanted
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "c"}})
}

#[tokio::test(start_paused = true)]
async fn of_a_namespace_of_somebody_else_a_plan_tells_nothing_and_asks_nothing() {
    let world = World::new(1).await;
    world.make(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c"}})).await;
    world.make(config_map("map-one")).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let mut told = Vec::new();
    for name in ["map-one", "map-two"] {
        world.put(with_config_map(name)).await;
        cluster.server(|server| server.requests_mut().clear());
        let planned = planned(&world, true).await;
        let live = planned.clusters[&cluster_id(1)].as_ref().unwrap();
        assert!(live.plan.steps().iter().any(|step| word(step) == "foreign Namespace"), "{live:?}");
        assert!(live.rehearsals.keys().all(|key| key.namespace.is_none()), "{live:?}");
        let outline =
            serde_json::to_string(&planned.outline(Reader::Member).into_values().collect::<Vec<_>>())
                .unwrap();
        told.push((outline.replace(name, "NAME"), live.observed.clone()));
        let is_inside = |key: &ObjectKey| key.namespace.as_deref() == Some("c");
        let asked = cluster.server(|server| {
            server
                .requests()
                .lines()
                .filter_map(|line| line.key.clone())
                .filter(is_inside)
                .collect::<Vec<_>>()
        });
        assert_eq!(asked, []);
    }
    assert!(told[0].0.contains("NAME"), "{told:?}");
    assert_eq!(told[0], told[1]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_without_dry_runs_asks_for_none_and_has_the_same_hash() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    let context = context(&world, true).await;
    let looked = world.deployment.planner().plan_one(context, Rehearsing::Nothing).await.unwrap();
    let dry_runs = || {
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
        cluster.server(|server| server.requests().count(Verb::Rehearse))
    };
    assert_eq!(dry_runs(), 0);
    assert_eq!(hash(&looked), hash(&planned(&world, true).await));
    assert!(dry_runs() > 0);
}

#[tokio::test(start_paused = true)]
async fn several_app_contexts_are_planned_at_once_and_told_in_their_order() {
    let world = World::new(2).await;
    world.put(on(2, spec(&everything()))).await;
    world.fleet.cluster(&cluster_id(2)).unwrap().set_link(Link::Hang);
    let one = context(&world, true).await;
    let begun = Instant::now();
    world.deployment.planner().plan_one(one.clone(), Rehearsing::Writes).await.unwrap();
    let alone = begun.elapsed();
    let ids: Vec<ContextId> = ["c", "a", "d", "b"].map(|id| ContextId::new(id).unwrap()).into();
    let several = ids.iter().map(|id| AppContext { id: id.clone(), ..one.clone() }).collect();
    let begun = Instant::now();
    let planned = world.deployment.planner().plan(several, Rehearsing::Writes).await.unwrap();
    assert!(begun.elapsed() < alone * 2, "{:?} for all, {alone:?} for one", begun.elapsed());
    assert_eq!(planned.iter().map(|planned| planned.context.id.clone()).collect::<Vec<_>>(), ids);
    for Planned { clusters, .. } in planned {
        let is_known: Vec<bool> = clusters.values().map(Result::is_ok).collect();
        assert_eq!(is_known, [true, false]);
    }
}
