//! What a worker's engine decides by itself is in the audit log, with why, and once.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::time::Duration;

use crate::common::{SOON, World, everything, spec};
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::LogicalCloudName;
use dcm_core::port::audit::{Action, Decision, Outcome};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::Removal;
use dcm_core::status::{LaneState, Reason};
use dcm_server::{ServeError, serve};
use dcm_sync::engine::{Acquire, Engine, Lost, Options};
use dcm_sync::runtime::OsRandom;
use dcm_sync::sim::{Link, SimCluster, cluster_id};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A cloud on one cluster, and a worker.
struct Served {
    world: World,
    stop: oneshot::Sender<()>,
    worker: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    async fn begin() -> Self {
        let world = World::new(1).await;
        world.put(spec(&everything())).await;
        world.apply().await;
        Self::over(world)
    }

    fn over(world: World) -> Self {
        let (deployment, (stop, stopped)) = (world.deployment.clone(), oneshot::channel());
        let worker = tokio::spawn(async move { serve(&deployment, async { drop(stopped.await) }).await });
        Self { world, stop, worker }
    }

    fn cluster(&self) -> &SimCluster {
        cluster(&self.world)
    }

    async fn stop(self) -> World {
        self.stop.send(()).unwrap();
        self.worker.await.unwrap().unwrap();
        self.world
    }

    /// Stops the worker, and gives what its engine decided.
    async fn decided(self) -> Vec<Decision> {
        let world = self.stop().await;
        let entries =
            world.deployment.audit().read(None, |asked| asked.who == "engine").await.unwrap().entries;
        let decided = entries.into_iter().map(|entry| {
            assert_eq!(entry.ended.unwrap().outcome, Outcome::Accepted { generation: None });
            entry.asked
        });
        decided.collect()
    }
}

fn cluster(world: &World) -> &SimCluster {
    world.fleet.cluster(&cluster_id(1)).unwrap()
}

/// Lets the cloud be taken off a cluster that can't be reached, until that is given up.
async fn give_up(world: &World) {
    cluster(world).set_link(Link::Cut);
    let World { deployment, caller, project, cloud, .. } = world;
    let removal = Removal { deadline_seconds: Some(20), ..Removal::default() };
    deployment.clouds().terminate(caller, project, cloud, removal).await.unwrap();
    world.until(|status| status.lanes[&cluster_id(1)].state == LaneState::Abandoned).await;
}

/// The one decision that there is; it tells the cloud that it is about.
fn only(decided: Vec<Decision>) -> Decision {
    let [one] = <[Decision; 1]>::try_from(decided).unwrap();
    assert_eq!(one.about.cluster, Some(cluster_id(1)));
    assert_eq!(one.about.cloud.as_ref().map(LogicalCloudName::as_str), Some("c"), "{one:?}");
    assert!(one.context.is_some());
    one
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_given_up_at_the_deadline_is_kept_with_what_was_in_the_way() {
    let served = Served::begin().await;
    served.world.done().await;
    give_up(&served.world).await;
    // It is looked for again and again.
    tokio::time::sleep(SOON).await;
    let abandoned = only(served.decided().await);
    assert_eq!(abandoned.action, Action::Abandon);
    let why = "it was not taken off by its deadline: the cluster can't be reached";
    assert!(abandoned.why.starts_with(why), "{}", abandoned.why);
}

#[tokio::test(start_paused = true)]
async fn a_halt_as_the_store_is_behind_is_kept_once() {
    let served = Served::begin().await;
    served.world.done().await;
    let kind = GroupVersionKind::new("", "v1", "Namespace");
    let key = ObjectKey::of_kind(&kind, None, "c");
    served.world.written_later(&kind, &key, 9).await;
    served.world.until_hindered(&cluster_id(1), Reason::StoreBehind).await;
    tokio::time::sleep(SOON).await;
    let halted = only(served.decided().await);
    assert_eq!(halted.action, Action::Halt);
    assert!(halted.why.contains("generation 9"), "{}", halted.why);
}

#[tokio::test(start_paused = true)]
async fn a_halt_before_another_cluster_is_kept_once_though_it_is_looked_at_each_minute() {
    let first = Served::begin().await;
    first.world.done().await;
    let world = first.stop().await;
    let other = ClusterUid("another".into());
    world.deployment.contexts().accept_cluster(&cluster_id(1), &other).await.unwrap();
    let served = Served::over(world);
    served.world.until_hindered(&cluster_id(1), Reason::ClusterChanged).await;
    tokio::time::sleep(10 * SOON).await;
    let decided = served.decided().await;
    let actions: Vec<Action> = decided.iter().map(|one| one.action).collect();
    assert_eq!(actions, [Action::Halt]);
    assert_eq!(decided[0].about.cluster, Some(cluster_id(1)));
    assert!(decided[0].why.contains("it was another and is"), "{}", decided[0].why);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_fought_about_no_more_is_kept_with_who_changes_it() {
    let served = Served::begin().await;
    served.world.done().await;
    let (kind, key) = served.cluster().server(|server| {
        let quota = server.objects().find(|one| &*one.kind.kind == "ResourceQuota").unwrap();
        (quota.kind.clone(), quota.key.clone())
    });
    for _ in 0..=Options::default().corrections_max {
        let theirs = json!({"spec": {"hard": {"limits.cpu": "77k"}}});
        served.cluster().server(|server| server.edit_as("rancher", &kind, &key, &theirs).unwrap());
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let given_up = only(served.decided().await);
    assert_eq!((given_up.action, &*given_up.about.detail), (Action::GiveUpContest, "ResourceQuota c/q"));
    assert!(given_up.why.contains("is held by rancher"), "{}", given_up.why);
    assert!(!given_up.why.contains("77k"), "no values: {}", given_up.why);
}

#[tokio::test(start_paused = true)]
async fn what_an_engine_decides_of_itself_without_a_worker_is_kept_until_it_ends() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    world.apply().await;
    let engine = world.deployment.engine(Acquire::All);
    let kept = tokio::spawn(world.deployment.keep_decisions(&engine));
    world.done().await;
    give_up(&world).await;
    // It goes on after the first decision, and ends with the engine.
    assert!(!kept.is_finished());
    engine.shutdown().await;
    tokio::time::timeout(SOON, kept).await.unwrap().unwrap();
    let entries = world.deployment.audit().read(None, |asked| asked.who == "engine").await.unwrap().entries;
    let actions: Vec<Action> = entries.iter().map(|entry| entry.asked.action).collect();
    assert_eq!(actions, [Action::Abandon]);
}

#[tokio::test(start_paused = true)]
async fn clusters_of_a_worker_that_died_are_one_entry_with_their_number() {
    for (count, cluster, detail) in
        [(1, Some(cluster_id(1)), ""), (3, None, "3 clusters: sim/cluster-1, sim/cluster-2, sim/cluster-3")]
    {
        let world = World::new(count).await;
        let mut everywhere = spec(&everything());
        everywhere["clusters"] =
            world.fleet.ids().map(|id| json!({"provider": id.provider, "cluster": id.cluster})).collect();
        world.put(everywhere).await;
        world.apply().await;
        let mortal = Engine::builder(world.store.clone(), world.fleet.clone());
        let (engine, run) = mortal.build(world.deployment.clock().clone(), &OsRandom);
        let process = tokio::spawn(run);
        world.done().await;
        process.abort();
        assert_eq!(engine.stopped().await, Err(Lost));
        let served = Served::over(world);
        tokio::time::sleep(SOON).await;
        let decided = served.decided().await;
        let told: Vec<_> =
            decided.iter().map(|one| (one.action, &one.about.cluster, &*one.about.detail)).collect();
        assert_eq!(told, [(Action::TakeOver, &cluster, detail)]);
    }
}
