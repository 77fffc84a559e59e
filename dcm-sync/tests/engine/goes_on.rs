//! Work that was hindered goes on soon after the hindrance is gone.

use std::time::Duration;

use dcm_core::app_context::Step;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::Progress;
use dcm_sync::engine::{Acquire, Engine, Options};
use dcm_sync::sim::{SimCluster, cluster_id};

use crate::fixture::*;

/// How long a hindrance lasts: long enough for the longest waits between two tries.
const LONG: Duration = Duration::from_secs(240);

/// How soon work goes on after its hindrance is gone.
const SECONDS: Duration = Duration::from_secs(15);

/// How long an API server goes by an admission policy that is deleted.
const OLD_RULES: Duration = Duration::from_secs(2);

fn steps() -> Vec<Step> {
    vec![apply(0, namespace_body("team")), apply(1, role_body("reader", &["get"]))]
}

struct Scene {
    cluster: SimCluster,
    engine: Engine,
    world: World,
}

impl Scene {
    fn new() -> Self {
        let world = World::new(1);
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
        let engine = world.engine();
        Self { cluster, engine, world }
    }

    async fn apply(&self) {
        self.engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    }

    async fn remove(&self) {
        self.engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    }

    async fn progress(&self) -> Progress {
        self.engine.contexts().status(&context_id()).await.unwrap().unwrap().progress
    }

    fn refuse_to_delete(&self, kinds: &[&str]) {
        let kinds: Vec<_> = kinds.iter().map(|kind| (*kind).into()).collect();
        self.cluster.server(|server| server.set_undeletable(kinds));
    }

    fn refuse_to_write(&self, kinds: &[&str]) {
        let kinds: Vec<_> = kinds.iter().map(|kind| (*kind).into()).collect();
        self.cluster.server(|server| server.set_refused(kinds));
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_a_policy_refused_goes_on_within_seconds_when_the_policy_is_gone() {
    for kinds in [&["Namespace"][..], &["Namespace", "Role"]] {
        let scene = Scene::new();
        scene.apply().await;
        done(&scene.engine, &context_id()).await;
        scene.refuse_to_delete(kinds);
        scene.remove().await;
        tokio::time::sleep(LONG).await;
        assert_eq!(scene.progress().await, Progress::Stuck, "{kinds:?}");
        scene.refuse_to_delete(&[]);
        tokio::time::sleep(SECONDS).await;
        assert_eq!(scene.progress().await, Progress::Done, "{kinds:?}");
        scene.engine.shutdown().await;
    }
}

/// Whether the status says stuck before it says done, looked at again and again.
async fn is_called_stuck(scene: &Scene) -> bool {
    loop {
        match scene.progress().await {
            Progress::Stuck => return true,
            Progress::Done => return false,
            Progress::Working => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}

/// The same, while the API server goes by its old rules for a moment yet.
async fn is_called_stuck_until(scene: &Scene, allow: impl FnOnce()) -> bool {
    let gone = async {
        tokio::time::sleep(OLD_RULES).await;
        allow();
    };
    futures::join!(is_called_stuck(scene), gone).0
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_again_once_the_policy_is_deleted_is_not_called_stuck() {
    let scene = Scene::new();
    scene.refuse_to_write(&["Role"]);
    scene.apply().await;
    assert!(is_called_stuck(&scene).await);
    scene.apply().await;
    assert!(!is_called_stuck_until(&scene, || scene.refuse_to_write(&[])).await, "the apply");

    scene.refuse_to_delete(&["Role"]);
    scene.remove().await;
    assert!(is_called_stuck(&scene).await);
    scene.remove().await;
    assert!(!is_called_stuck_until(&scene, || scene.refuse_to_delete(&[])).await, "the removal");
    scene.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn commands_one_after_the_other_wait_no_longer_for_a_lost_request_than_one() {
    let scene = Scene::new();
    scene.apply().await;
    done(&scene.engine, &context_id()).await;
    scene.engine.shutdown().await;
    // A worker dies in the middle of the removal, and each command after it gives up soon.
    let (engine, task) = scene.world.mortal_engine(Options::default());
    scene.refuse_to_delete(&["Namespace"]);
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    tokio::time::sleep(LOOK_AGAIN).await;
    task.abort();
    scene.refuse_to_delete(&[]);
    let begun = scene.world.clock.now();
    let acquire = Acquire::PendingOf([context_id()].into());
    loop {
        let command = scene.world.engine_with(Options { acquire: acquire.clone(), ..Options::default() });
        command.contexts().remove(&context_id(), Removal::default()).await.unwrap();
        tokio::time::sleep(SECONDS).await;
        let status = command.contexts().status(&context_id()).await.unwrap().unwrap();
        command.shutdown().await;
        if status.progress == Progress::Done {
            break;
        }
    }
    let options = Options::default();
    let most = options.lease + options.late_request_limit + 2 * SECONDS;
    let lasted = scene.world.clock.now().duration_since(begun);
    assert!(lasted <= most.try_into().unwrap(), "{lasted:?}");
}
