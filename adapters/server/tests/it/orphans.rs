//! Orphans: what a lost store leaves on clusters, listed, and cleared only when somebody says so.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::{World, everything, spec};
use dcm_core::app_context::Generation;
use dcm_core::logical_cloud::Level;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::ContextId;
use dcm_core::port::audit::Outcome;
use dcm_core::port::cluster::{Marks, Origin, Stamped};
use dcm_core::port::synchronizer::Disposal;
use dcm_core::preflight::{self, Needs};
use dcm_core::service::{Cleared, Orphan, Orphans};
use dcm_server::{Deployment, Installation as _, Parts};
use dcm_store::MemoryStore;
use dcm_sync::engine::{Acquire, Options};
use dcm_sync::runtime::OsRandom;
use dcm_sync::sim::{Identity, Link, Rights, cluster_id};
use serde_json::{Value, json};
use std::sync::Arc;

/// A cloud on the first cluster, and a deployment over the same clusters whose store is empty.
async fn lost() -> (World, Deployment) {
    lost_of(World::new(1).await, spec(&everything())).await
}

/// The same of a cloud with this specification.
async fn lost_of(world: World, spec: Value) -> (World, Deployment) {
    let engine = world.deployment.engine(Acquire::All);
    world.put(spec).await;
    world.apply().await;
    world.done().await;
    engine.shutdown().await;
    let store = Arc::new(MemoryStore::new());
    let empty = Deployment::over(Parts {
        store: store.clone(),
        contexts_store: store,
        clusters: world.fleet.clone(),
        check: Arc::new(|_| Ok(())),
        engine: Options::default(),
        clock: world.deployment.clock().clone(),
        random: Arc::new(OsRandom),
    });
    (world, empty)
}

async fn orphans(deployment: &Deployment) -> Vec<Orphan> {
    let found = deployment.orphans(&cluster_id(1)).await.unwrap();
    assert_eq!(found.unseen, [""; 0]);
    found.orphans
}

/// The one app context that there are orphans of.
async fn context(deployment: &Deployment) -> ContextId {
    orphans(deployment).await.remove(0).context
}

#[tokio::test(start_paused = true)]
async fn what_a_store_knows_is_no_orphan_and_what_it_does_not_is_one_and_is_left_alone() {
    let (world, empty) = lost().await;
    let owned = world.owned();
    assert_eq!(orphans(&world.deployment).await, []);
    let orphans = orphans(&empty).await;
    assert_eq!(orphans.len(), owned);
    assert!(orphans.iter().all(|orphan| orphan.generation == Generation(1) && orphan.cleared.is_none()));
    let engine = empty.engine(Acquire::All);
    tokio::time::sleep(common::SOON).await;
    engine.shutdown().await;
    assert_eq!(world.owned(), owned);
}

#[tokio::test(start_paused = true)]
async fn orphans_are_removed_when_somebody_says_so() {
    let (world, empty) = lost().await;
    let context = context(&empty).await;
    let others = ContextId::new("another").unwrap();
    assert_eq!(
        empty.clear_orphans(&world.caller, &cluster_id(1), &others, Disposal::Delete).await.unwrap(),
        Orphans::default()
    );
    let cleared =
        empty.clear_orphans(&world.caller, &cluster_id(1), &context, Disposal::Delete).await.unwrap();
    assert!(cleared.orphans.iter().all(|orphan| orphan.cleared == Some(Cleared::Deleted)), "{cleared:#?}");
    // A namespace takes its time.
    tokio::time::sleep(common::SOON).await;
    let _ = orphans(&empty).await;
    assert_eq!(world.owned(), 0);
}

#[tokio::test(start_paused = true)]
async fn orphans_that_are_released_stay_without_our_marks() {
    let (world, empty) = lost().await;
    let (count, context) = (world.owned(), context(&empty).await);
    let cleared = empty.clear_orphans(&world.caller, &cluster_id(1), &context, Disposal::Keep).await.unwrap();
    assert_eq!(cleared.orphans.len(), count);
    for orphan in cleared.orphans {
        let expected = if orphan.object.is_binding() { Cleared::Deleted } else { Cleared::Released };
        assert_eq!(orphan.cleared, Some(expected), "{orphan:#?}");
    }
    assert_eq!((world.owned(), orphans(&empty).await), (0, Vec::new()));
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let left: Vec<_> = cluster.server(|server| server.objects().map(|object| object.key.clone()).collect());
    assert!(
        left.iter().any(|key| &*key.kind == "Role") && !left.iter().any(ObjectKey::is_binding),
        "{left:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_controllers_copied_our_labels_to_is_theirs_and_no_orphan() {
    let world = World::new(1).await;
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    let body = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    let manifest = Manifest::new(body("adopted")).unwrap();
    let marks = Marks {
        owner: world.deployment.options().owner.clone(),
        context: ContextId::new("lost").unwrap(),
        generation: Generation(1),
        manifest: Some(manifest.hash()),
        origin: Origin::Adopted,
    };
    let adopted = Stamped { manifest, marks, labels: Arc::default(), proof: None }.body();
    // As of Endpoints: the labels alone; and as of EndpointSlices: with what controls them.
    let mut labelled = body("labelled");
    labelled["metadata"]["labels"] = adopted["metadata"]["labels"].clone();
    let mut controlled = adopted.clone();
    controlled["metadata"]["name"] = "controlled".into();
    let owner =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "adopted", "uid": "u", "controller": true});
    controlled["metadata"]["ownerReferences"] = json!([owner]);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    for (manager, body) in [("dcm", &adopted), ("endpoints", &labelled), ("slices", &controlled)] {
        let key = ObjectKey::of_kind(&kind, Some("default"), body["metadata"]["name"].as_str().unwrap());
        cluster.server(|server| server.create_as(manager, &kind, &key, body)).unwrap();
    }
    let names =
        |orphans: &[Orphan]| orphans.iter().map(|one| one.object.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&orphans(&world.deployment).await), ["adopted"]);
    let context = ContextId::new("lost").unwrap();
    let cleared =
        world.deployment.clear_orphans(&world.caller, &cluster_id(1), &context, Disposal::Delete).await;
    let cleared: Vec<_> = cleared.unwrap().orphans.into_iter().map(|one| one.cleared).collect();
    assert_eq!(cleared, [Some(Cleared::Released)]);
    assert_eq!(world.owned(), 2, "the copies are left as they are");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_hangs_hides_no_other_and_is_waited_for_once() {
    let world = World::new(6).await;
    for hanging in [1, 2, 3] {
        world.fleet.cluster(&cluster_id(hanging)).unwrap().set_link(Link::Hang);
    }
    let alone = tokio::time::Instant::now();
    world.deployment.orphans(&cluster_id(1)).await.unwrap_err();
    let alone = alone.elapsed();
    let begun = tokio::time::Instant::now();
    let found = world.deployment.orphans_on(world.fleet.ids().cloned()).await;
    assert!(begun.elapsed() < alone * 2, "{:?} for all, {alone:?} for one", begun.elapsed());
    let is_seen: Vec<bool> = found.values().map(Result::is_ok).collect();
    assert_eq!(is_seen, [false, false, false, true, true, true]);
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_looked_through_is_told() {
    let (world, empty) = lost().await;
    world
        .fleet
        .cluster(&cluster_id(1))
        .unwrap()
        .server(|server| server.set_rights(Rights::Of(Identity::user("nobody"))));
    let found = empty.orphans(&cluster_id(1)).await.unwrap();
    assert!(found.orphans.is_empty(), "{:#?}", found.orphans);
    // Kinds that a cloud always has, and one that only the cluster tells of.
    for kind in ["Namespace", "RoleBinding", "ConfigMap"] {
        let is_told = found.unseen.iter().any(|unseen| unseen.contains(&format!(" {kind}: not allowed")));
        assert!(is_told, "{kind}: {:#?}", found.unseen);
    }
}

#[tokio::test(start_paused = true)]
async fn with_the_least_role_objects_of_all_kinds_are_found_in_the_namespaces_of_orphans() {
    let world = World::new(1).await;
    let mut with_manifest = spec(&everything());
    with_manifest["manifests"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}]);
    let (world, empty) = lost_of(world, with_manifest).await;
    let found = orphans(&empty).await;
    // As the engine's user, who lacks all rights to config maps outside of the namespace.
    world.make(serde_json::to_value(preflight::namespace_role()).unwrap()).await;
    let least = preflight::rules(Needs::of_level(Level::Privileged).accesses());
    give(&world, "least", serde_json::to_value(least).unwrap()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("least"))));
    assert_eq!(orphans(&empty).await, found);
    assert!(found.iter().any(|orphan| &*orphan.object.kind == "ConfigMap"), "{found:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_tells_why_orphans_were_not_cleared() {
    let (world, empty) = lost().await;
    let context = context(&empty).await;
    let clear = async || empty.clear_orphans(&world.caller, &cluster_id(1), &context, Disposal::Delete).await;
    let told = async || {
        let entries = empty.audit().read(None, |_| true).await.unwrap().entries;
        entries.last().unwrap().ended.clone().unwrap().outcome
    };
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.set_link(Link::Cut);
    clear().await.unwrap_err();
    let outcome = told().await;
    assert!(
        matches!(&outcome, Outcome::Failed { message } if message.starts_with("the cluster could not be looked through: the cluster can't be reached: ")),
        "{outcome:?}"
    );
    cluster.set_link(Link::Up);
    // Entries of one moment have no order.
    tokio::time::sleep(common::SOON).await;
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("nobody"))));
    assert!(clear().await.unwrap().orphans.is_empty());
    let outcome = told().await;
    assert!(
        matches!(&outcome, Outcome::Failed { message } if message.contains("could not be looked through, such as ")),
        "{outcome:?}"
    );
    cluster.server(|server| server.set_rights(Rights::All));
    tokio::time::sleep(common::SOON).await;
    may_only_read(&world, "reader").await;
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("reader"))));
    clear().await.unwrap_err();
    let outcome = told().await;
    assert!(
        matches!(&outcome, Outcome::Failed { message } if message.contains("not allowed: cannot delete ")),
        "{outcome:?}"
    );
}

/// Gives somebody the right to read everything on the first cluster.
async fn may_only_read(world: &World, user: &str) {
    give(world, user, json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]))
        .await;
}

/// Gives somebody the rights of some rules on the first cluster.
async fn give(world: &World, user: &str, rules: Value) {
    let (group, metadata) = ("rbac.authorization.k8s.io", json!({"name": user}));
    let version = format!("{group}/v1");
    let role = json!({"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules});
    world.make(role).await;
    world
        .make(json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        }))
        .await;
}
