//! Whoever asks is told that it is done only when each object was seen since.

use dcm_core::app_context::Step;
use dcm_core::manifest::Manifest;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::status::{LaneStatus, Progress};
use dcm_sync::engine::{Acquire, Engine, Options};
use dcm_sync::sim::{Link, SimCluster, Verb, cluster_id};

use crate::fixture::*;

fn steps() -> Vec<Step> {
    vec![
        apply(0, namespace_body("team")),
        apply(1, role_body("reader", &["get"])),
        apply(1, role_body("writer", &["update"])),
    ]
}

fn namespace() -> Manifest {
    Manifest::new(namespace_body("team")).unwrap()
}

fn role() -> Manifest {
    Manifest::new(role_body("reader", &["get"])).unwrap()
}

struct Scene {
    world: World,
    cluster: SimCluster,
    engine: Engine,
}

impl Scene {
    /// A cluster that holds the steps, and a worker that follows it.
    async fn new() -> Self {
        let world = World::new(1);
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
        let engine = world.engine();
        let scene = Self { world, cluster, engine };
        scene.apply().await;
        done(&scene.engine, &context_id()).await;
        scene
    }

    async fn apply(&self) {
        self.engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    }

    async fn progress(&self) -> Progress {
        self.engine.contexts().status(&context_id()).await.unwrap().unwrap().progress
    }

    async fn lane(&self) -> LaneStatus {
        self.engine.contexts().lane(&context_id(), &cluster_id(1)).await.unwrap().unwrap()
    }

    fn delete(&self, manifest: &Manifest) {
        self.cluster.server(|server| server.delete_as_other(manifest.kind(), manifest.key())).unwrap();
    }

    fn holds(&self, manifest: &Manifest) -> bool {
        self.world.body(1, manifest.kind(), manifest.key()).is_some()
    }

    fn reads(&self) -> u64 {
        self.world.requests(|log| log.count(Verb::Get))
    }
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_apply_is_done_when_each_object_was_read_again() {
    let scene = Scene::new().await;
    let (reads, writes, seen) = (scene.reads(), scene.world.writes(), scene.lane().await.seen.unwrap());
    tokio::time::sleep(LOOK_AGAIN).await;
    scene.apply().await;
    assert_eq!(scene.progress().await, Progress::Working, "nobody has looked yet");
    done(&scene.engine, &context_id()).await;
    assert_eq!((scene.reads() - reads, scene.world.writes() - writes), (3, 0), "one read for each object");
    assert!(scene.lane().await.seen.unwrap() > seen);
    let lanes = scene.world.store_state().await;
    tokio::time::sleep(SOON).await;
    assert_eq!((scene.reads() - reads, scene.world.store_state().await), (3, lanes), "and no more");
}

#[tokio::test(start_paused = true)]
async fn what_an_apply_writes_is_not_read_again() {
    let scene = Scene::new().await;
    let (reads, writes) = (scene.reads(), scene.world.writes());
    let mut changed = steps();
    changed[1] = apply(1, role_body("reader", &["list"]));
    scene.engine.contexts().apply(&context(changed, [1])).await.unwrap();
    done(&scene.engine, &context_id()).await;
    assert_eq!((scene.reads() - reads, scene.world.writes() - writes), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn whatever_asks_has_a_namespace_made_again_that_somebody_deleted() {
    for asks in ["apply", "look again", "reconcile", "resume"] {
        let scene = Scene::new().await;
        scene.delete(&namespace());
        tokio::time::sleep(SOON).await;
        assert!(!scene.holds(&namespace()), "{asks}: not before somebody asks");
        let contexts = scene.engine.contexts();
        match asks {
            "apply" => scene.apply().await,
            "look again" => contexts.look_again(&context_id()).await.unwrap(),
            "reconcile" => drop(contexts.reconcile(&context_id()).await.unwrap()),
            _ => contexts.resume(&context_id()).await.unwrap(),
        }
        done(&scene.engine, &context_id()).await;
        assert!(scene.holds(&namespace()) && scene.holds(&role()), "{asks}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_can_not_be_looked_at_is_not_done_and_says_when_it_was_seen() {
    let scene = Scene::new().await;
    let seen = scene.lane().await.seen;
    scene.cluster.set_link(Link::Hang);
    scene.delete(&role());
    scene.apply().await;
    tokio::time::sleep(SOON).await;
    assert_ne!(scene.progress().await, Progress::Done);
    assert_eq!(scene.lane().await.seen, seen);
    scene.cluster.set_link(Link::Up);
    done(&scene.engine, &context_id()).await;
    assert!(scene.holds(&role()));
    assert!(scene.lane().await.seen > seen);
}

#[tokio::test(start_paused = true)]
async fn without_a_worker_an_engine_of_its_own_looks_before_it_is_done() {
    let scene = Scene::new().await;
    scene.engine.shutdown().await;
    scene.delete(&role());
    let (kind, key) = (role().kind().clone(), role().key().clone());
    assert!(scene.cluster.server(|server| server.object(&kind, &key).unwrap()).is_none());
    let acquire = Acquire::PendingOf([context_id()].into());
    let scene = Scene { engine: scene.world.engine_with(Options { acquire, ..Options::default() }), ..scene };
    tokio::time::sleep(SOON).await;
    assert!(!scene.holds(&role()), "nobody has asked");
    scene.apply().await;
    done(&scene.engine, &context_id()).await;
    assert!(scene.holds(&role()));
    let writes = scene.world.writes();
    scene.apply().await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.world.writes(), writes);
    scene.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_is_over_is_not_looked_at_again() {
    let scene = Scene::new().await;
    scene.engine.contexts().remove(&context_id(), Default::default()).await.unwrap();
    done(&scene.engine, &context_id()).await;
    let (requests, lanes) = (scene.reads(), scene.world.store_state().await);
    scene.engine.contexts().remove(&context_id(), Default::default()).await.unwrap();
    scene.engine.contexts().look_again(&context_id()).await.unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!((scene.reads(), scene.world.store_state().await), (requests, lanes));
    assert_eq!(scene.progress().await, Progress::Done);
}
