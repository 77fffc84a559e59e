//! Removal always ends: what can't be removed by its deadline is abandoned, and cleared when that is possible.

use std::collections::BTreeSet;
use std::time::Duration;

use dcm_core::app_context::AppContext;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::{Access, LABEL_OWNER};
use dcm_core::port::store::{Prefix, StoreExt as _};
use dcm_core::port::synchronizer::{Disposal, Error, Removal, STOP_LIMIT, Synchronizer as _};
use dcm_core::status::{ContextStatus, LaneState, Progress, Reason};
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::sim::{Link, Rights, cluster_id};
use serde_json::{Value, json};

use crate::fixture::*;

/// What a removal in these tests may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// By when the first request comes after a cluster has returned.
const FOUND: Duration = Duration::from_secs(5);

fn within_the_deadline() -> Removal {
    Removal { deadline_seconds: Some(60), ..Removal::default() }
}

fn link(world: &World, number: usize, link: Link) {
    world.fleet.cluster(&cluster_id(number)).unwrap().set_link(link);
}

fn state(status: &ContextStatus, number: usize) -> Option<LaneState> {
    status.lanes.get(&cluster_id(number)).map(|lane| lane.state)
}

/// An engine whose context is on these clusters.
async fn applied(world: &World, clusters: impl IntoIterator<Item = usize>) -> Engine {
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), clusters)).await.unwrap();
    done(&engine, &context_id()).await;
    tidied(&engine).await;
    engine
}

/// Removes the context and waits for the end.
async fn remove(engine: &Engine, removal: Removal) -> ContextStatus {
    engine.contexts().remove(&context_id(), removal).await.unwrap();
    until(engine, |status| status.progress == Progress::Done).await
}

/// What hinders a cluster from being cleared, and how it shows.
#[derive(Debug, Clone, Copy)]
enum Obstacle {
    Link(Link),
    Denied,
    Finalizer,
}

impl Obstacle {
    fn set(self, world: &World) {
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
        let (kind, key) = namespace("team");
        match self {
            Self::Link(link) => cluster.set_link(link),
            Self::Denied => cluster.server(|server| {
                let delete = Access {
                    verb: "delete".into(),
                    group: "".into(),
                    resource: "namespaces".into(),
                    subresource: "".into(),
                    name: "".into(),
                    namespace: None,
                };
                server.set_rights(Rights::AllBut(vec![delete]));
            }),
            Self::Finalizer => cluster.server(|server| {
                let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
                server.edit_as("somebody", &kind, &key, &held).unwrap();
            }),
        }
    }

    fn take_away(self, world: &World) {
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
        let (kind, key) = namespace("team");
        match self {
            Self::Link(_) => cluster.set_link(Link::Up),
            Self::Denied => cluster.server(|server| server.set_rights(Rights::All)),
            Self::Finalizer => cluster.server(|server| {
                let free = json!({"metadata": {"finalizers": []}});
                drop(server.edit_as("somebody", &kind, &key, &free).unwrap());
            }),
        }
    }

    fn reason(self) -> Reason {
        match self {
            Self::Link(_) => Reason::Unreachable,
            Self::Denied => Reason::Denied,
            Self::Finalizer => Reason::Waiting,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_is_in_the_way_a_removal_ends_by_its_deadline_and_the_rest_is_cleared_later() {
    let obstacles =
        [Obstacle::Link(Link::Cut), Obstacle::Link(Link::Hang), Obstacle::Denied, Obstacle::Finalizer];
    for obstacle in obstacles {
        let world = World::new(2);
        let engine = applied(&world, 1..=2).await;
        obstacle.set(&world);
        let asked = world.clock.now();
        let status = remove(&engine, within_the_deadline()).await;
        let took = world.clock.now().duration_since(asked).unsigned_abs();
        assert!(took <= DEADLINE + Duration::from_secs(1), "{obstacle:?}: {took:?}");
        assert_eq!(state(&status, 1), Some(LaneState::Abandoned), "{obstacle:?}");
        let alone = engine.contexts().lane(&context_id(), &cluster_id(1)).await.unwrap();
        assert_eq!(alone.map(|lane| lane.state), Some(LaneState::Abandoned), "{obstacle:?}");
        assert_eq!(state(&status, 2), Some(LaneState::Removed), "{obstacle:?}");
        let cause = status.lanes[&cluster_id(1)].cause.as_ref().unwrap();
        assert_eq!((cause.reason, cause.next_try), (obstacle.reason(), None), "{obstacle:?}");

        obstacle.take_away(&world);
        until(&engine, |status| state(status, 1) == Some(LaneState::Removed)).await;
        assert_eq!(world.owned(1), Vec::<String>::new(), "{obstacle:?}");
        assert_eq!(world.claimed("team").await, BTreeSet::new(), "{obstacle:?}");
        engine.contexts().forget(&context_id()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_holds_a_namespace_back_is_named() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    let (kind, key) = config_map("team", "theirs");
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": "team", "finalizers": ["example.com/hold"]}});
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.create_as("somebody", &kind, &key, &body)).unwrap();
    let status = remove(&engine, Removal { delete_contents: true, ..within_the_deadline() }).await;
    let cause = status.lanes[&cluster_id(1)].cause.as_ref().unwrap();
    assert_eq!(cause.object.as_ref().unwrap().to_string(), "Namespace team");
    let message = "it is being deleted and held by kubernetes: NamespaceContentRemaining";
    assert_eq!((&*cause.message, &**cause.whole()), (message, &*format!("{message}: 1 objects remain")));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_returns_is_found_within_seconds_however_long_it_was_away() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    remove(&engine, within_the_deadline()).await;
    for days in 0..3 {
        tokio::time::sleep(Duration::from_secs(days * 24 * 3600 + 1)).await;
    }
    let mut events = engine.events();
    link(&world, 1, Link::Up);
    let returned = world.clock.now();
    event(&mut events, |what| *what == What::Connected).await;
    assert!(world.clock.now().duration_since(returned).unsigned_abs() <= FOUND);
    until(&engine, |status| state(status, 1) == Some(LaneState::Removed)).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_hangs_is_looked_for_as_often_as_one_that_refuses() {
    let limits = [Duration::from_secs(3), 2 * FOUND];
    for (request_limit, longest) in limits.into_iter().zip([FOUND, 2 * FOUND]) {
        let world = World::new(1);
        let engine = world.engine_with(Options { request_limit, ..Options::default() });
        engine.contexts().apply(&context(steps(), [1])).await.unwrap();
        done(&engine, &context_id()).await;
        link(&world, 1, Link::Hang);
        remove(&engine, within_the_deadline()).await;
        let mut events = engine.events();
        let mut failed = Vec::new();
        for _ in 0..10 {
            event(&mut events, |what| matches!(what, What::Hindered(_))).await;
            failed.push(world.clock.now());
        }
        let waits: Vec<_> = failed.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
        assert!(waits.iter().all(|wait| wait.unsigned_abs() <= longest), "{request_limit:?}: {waits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn looking_for_an_abandoned_cluster_writes_nothing_to_the_store() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    remove(&engine, within_the_deadline()).await;
    tokio::time::sleep(SOON).await;
    let versions = async || -> Vec<_> {
        let lanes = Prefix::everything();
        let entries = world.store.list_all(&lanes).await.unwrap().into_iter();
        let kept = entries.filter(|entry| !entry.path.as_str().starts_with("workers/"));
        kept.map(|entry| (entry.path, entry.version)).collect()
    };
    let before = versions().await;
    tokio::time::sleep(SOON).await;
    assert_eq!(versions().await, before);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_taken_out_of_a_context_is_abandoned_once_and_for_all_later_changes() {
    let world = World::new(2);
    let engine = applied(&world, 1..=2).await;
    link(&world, 1, Link::Cut);
    let removal = within_the_deadline();
    let without = |verbs: &[&str]| {
        let mut changed = steps();
        changed[2] = apply(1, role_body("reader", verbs));
        AppContext { removal, ..context(changed, [2]) }
    };
    engine.contexts().apply(&without(&["get"])).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Done).await;
    assert_eq!(state(&status, 1), Some(LaneState::Abandoned));
    let asked = world.clock.now();
    engine.contexts().apply(&without(&["list"])).await.unwrap();
    until(&engine, |status| status.progress == Progress::Done).await;
    assert!(world.clock.now().duration_since(asked).unsigned_abs() < DEADLINE / 2, "nobody waits again");
    link(&world, 1, Link::Up);
    until(&engine, |status| state(status, 1).is_none()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn who_asks_again_gives_an_abandoned_cluster_another_deadline() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    remove(&engine, within_the_deadline()).await;
    engine.contexts().remove(&context_id(), within_the_deadline()).await.unwrap();
    let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert_eq!(status.progress, Progress::Working);
    let asked = world.clock.now();
    until(&engine, |status| status.progress == Progress::Done).await;
    assert!(world.clock.now().duration_since(asked).unsigned_abs() >= DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_comes_after_the_deadline_tries_before_it_abandons() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    engine.contexts().remove(&context_id(), within_the_deadline()).await.unwrap();
    until(&engine, |status| status.lanes[&cluster_id(1)].cause.is_some()).await;
    engine.shutdown().await;
    tokio::time::sleep(2 * DEADLINE).await;
    link(&world, 1, Link::Up);
    let engine = world.engine();
    let mut states = BTreeSet::new();
    until(&engine, |status| {
        states.insert(state(status, 1).map(|state| format!("{state:?}")));
        status.progress == Progress::Done
    })
    .await;
    assert_eq!(states, [Some("Removing".to_owned()), Some("Removed".to_owned())].into());
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_was_paused_has_its_whole_deadline_afterwards() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    engine.contexts().remove(&context_id(), within_the_deadline()).await.unwrap();
    until(&engine, |status| status.lanes[&cluster_id(1)].cause.is_some()).await;
    engine.contexts().stop(&context_id(), STOP_LIMIT).await.unwrap();
    tokio::time::sleep(10 * DEADLINE).await;
    let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert_eq!(state(&status, 1), Some(LaneState::Removing));
    engine.contexts().resume(&context_id()).await.unwrap();
    let resumed = world.clock.now();
    until(&engine, |status| status.progress == Progress::Done).await;
    assert!(world.clock.now().duration_since(resumed).unsigned_abs() >= DEADLINE);
}

/// What there is in the store beside the workers' own records.
async fn stored(world: &World) -> Vec<String> {
    let entries = world.store.list_all(&Prefix::everything()).await.unwrap();
    let paths = entries.into_iter().map(|entry| entry.path.to_string());
    let stays = |path: &String| {
        ["forgotten", "identities/", "proofs", "shards/", "workers/"]
            .iter()
            .any(|room| path.starts_with(room))
    };
    paths.filter(|path| !stays(path)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_context_leaves_tombstones_which_go_when_their_clusters_are_cleared() {
    let world = World::new(2);
    let engine = applied(&world, 1..=2).await;
    link(&world, 1, Link::Cut);
    remove(&engine, within_the_deadline()).await;
    engine.contexts().forget(&context_id()).await.unwrap();
    assert_eq!(engine.contexts().status(&context_id()).await.unwrap(), None);
    let root = "contexts/lc-1/root";
    let left = ["claims/sim/cluster-1/team", root, "lanes/lc-1/sim/cluster-1"];
    assert_eq!(stored(&world).await, left);
    let tombstones = engine.contexts().tombstones(&cluster_id(1)).await.unwrap();
    assert_eq!((tombstones.len(), tombstones[0].objects.len()), (1, 5));
    let mut rival = context(vec![apply(0, namespace_body("team"))], [1]);
    rival.id = ContextId::new("lc-2").unwrap();
    let refused = engine.contexts().apply(&rival).await.unwrap_err();
    assert!(matches!(refused, Error::NamespaceTaken { .. }), "{refused:?}");

    // Another worker finds them as this one does.
    engine.shutdown().await;
    let engine = world.engine();
    let mut events = engine.events();
    link(&world, 1, Link::Up);
    event(&mut events, |what| *what == What::Lane(LaneState::Removed)).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
    assert_eq!(stored(&world).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_context_can_be_applied_again_over_its_tombstones() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    remove(&engine, within_the_deadline()).await;
    engine.contexts().forget(&context_id()).await.unwrap();
    link(&world, 1, Link::Up);
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn tombstones_of_a_cluster_that_never_returns_are_dropped_when_somebody_says_so() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    link(&world, 1, Link::Cut);
    remove(&engine, within_the_deadline()).await;
    engine.contexts().forget(&context_id()).await.unwrap();
    engine.contexts().drop_tombstones(&cluster_id(1)).await.unwrap();
    assert_eq!(stored(&world).await, Vec::<String>::new());
    assert_eq!(engine.contexts().tombstones(&cluster_id(1)).await.unwrap(), []);
    link(&world, 1, Link::Up);
    let before = world.writes();
    tokio::time::sleep(SOON).await;
    assert_eq!((world.writes(), stored(&world).await), (before, Vec::new()), "it is nobody's now");
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_kept_is_released_and_stays() {
    for removal in [Removal { objects: Some(Disposal::Keep), ..Removal::default() }, Removal::default()] {
        let world = World::new(1);
        let engine = world.engine();
        let mut wanted = context(steps(), [1]);
        wanted.removal.objects = Some(Disposal::Keep);
        engine.contexts().apply(&wanted).await.unwrap();
        done(&engine, &context_id()).await;
        tidied(&engine).await;
        let before = world.owned(1);
        let status = remove(&engine, removal).await;
        assert_eq!(state(&status, 1), Some(LaneState::Removed));
        assert_eq!((before.len(), world.owned(1)), (5, Vec::new()));
        let (kind, key) = namespace("team");
        let left = world.body(1, &kind, &key).unwrap();
        assert_eq!(left["metadata"]["labels"][LABEL_OWNER], json!(null));
        let role = dcm_core::manifest::Manifest::new(role_body("reader", &[])).unwrap();
        assert!(world.body(1, role.kind(), role.key()).is_some());
        assert_eq!(world.claimed("team").await, BTreeSet::new());
    }
}

#[tokio::test(start_paused = true)]
async fn bindings_end_with_what_is_kept_where_the_app_context_says_so() {
    let binding = || {
        let mut binding = role_body("reader", &[]);
        binding["kind"] = "RoleBinding".into();
        binding.as_object_mut().unwrap().remove("rules");
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"});
        binding
    };
    for (bindings, stays) in [(Some(Disposal::Delete), false), (None, true)] {
        let world = World::new(1);
        let engine = world.engine();
        let mut wanted = steps();
        wanted.push(apply(2, binding()));
        let mut wanted = context(wanted, [1]);
        wanted.removal = Removal { objects: Some(Disposal::Keep), bindings, ..Removal::default() };
        engine.contexts().apply(&wanted).await.unwrap();
        done(&engine, &context_id()).await;
        let status = remove(&engine, Removal::default()).await;
        assert_eq!(state(&status, 1), Some(LaneState::Removed));
        let is_there = |body: Value| {
            let manifest = dcm_core::manifest::Manifest::new(body).unwrap();
            world.body(1, manifest.kind(), manifest.key()).is_some()
        };
        assert!(is_there(role_body("reader", &[])));
        assert_eq!((is_there(binding()), world.owned(1)), (stays, Vec::new()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_hangs_has_until_its_deadline_counted_from_when_a_worker_heard_of_it() {
    let world = World::new(1);
    let engine = applied(&world, [1]).await;
    engine.shutdown().await;
    link(&world, 1, Link::Hang);
    let engine = world.engine_with(one_shot());
    let begun = world.clock.now();
    let deadline = Duration::from_secs(12);
    let removal = Removal { deadline_seconds: Some(12), ..Removal::default() };
    engine.contexts().remove(&context_id(), removal).await.unwrap();
    until(&engine, |status| status.progress == Progress::Done).await;
    let took = Duration::try_from(world.clock.now().duration_since(begun)).unwrap();
    assert!((deadline..deadline + Duration::from_secs(2)).contains(&took), "{took:?}");
    let begun = world.clock.now();
    engine.shutdown().await;
    let took = Duration::try_from(world.clock.now().duration_since(begun)).unwrap();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// A namespace, and an object of a kind whose definition people may remove.
fn with_policy() -> AppContext {
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "closed", "namespace": "team"}, "spec": {"podSelector": {}}});
    context(vec![apply(0, namespace_body("team")), apply(1, policy)], [1])
}

#[tokio::test(start_paused = true)]
async fn what_is_of_a_kind_that_is_not_served_any_more_is_gone() {
    for is_stopped in [false, true] {
        let world = World::new(1);
        let mut engine = world.engine();
        engine.contexts().apply(&with_policy()).await.unwrap();
        done(&engine, &context_id()).await;
        if is_stopped {
            engine.shutdown().await;
        }
        world.fleet.cluster(&cluster_id(1)).unwrap().server(|server| server.undefine("NetworkPolicy"));
        if is_stopped {
            engine = world.engine();
        } else {
            tokio::time::sleep(SOON).await;
        }
        engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
        done(&engine, &context_id()).await;
        assert_eq!(world.owned(1), Vec::<String>::new());
        engine.contexts().forget(&context_id()).await.unwrap();
        engine.shutdown().await;
    }
}
