//! A small world in which every kind of document is written.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::logical_cloud::Draft;
use dcm_core::name::{LogicalCloudName, UserName};
use dcm_core::port::clock::{Clock, Seeded};
use dcm_core::service::Caller;
use dcm_store::EncryptedStore;
use dcm_store::encrypted::{KEY_BYTES, Keyring};
use dcm_sync::engine::Acquire;
use dcm_sync::sim::cluster_id;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::common::kept::Kept;
use crate::common::{Ground, World};

/// Long enough for a worker to renew its session and to forget what was deleted.
const A_WHILE: Duration = Duration::from_secs(20);

/// Virtual time that begins at the same moment in each run.
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Timestamp {
        let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        beginning + self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// Plays, and gives the store that lies beneath the encryption.
pub(crate) async fn play() -> Arc<Kept> {
    let kept = Kept::new();
    let keyring = Keyring::new("k1".parse().unwrap(), &[1; KEY_BYTES]);
    let store = EncryptedStore::new(kept.clone(), keyring);
    store.note_keys().await.unwrap();
    let ground = Ground {
        store: Arc::new(store),
        clock: Arc::new(Paused(Instant::now())),
        random: Arc::new(Seeded::new(1)),
    };
    let mut world = World::on(ground, 2, |fleet| fleet).await;
    world.caller = Caller::new("ann@example.com").because("a new team").with_request_id("ticket-17");
    let engine = world.deployment.engine(Acquire::All);
    cluster_with_labels(&world).await;
    cloud_that_comes_and_goes(&mut world).await;
    cloud_that_stays(&world).await;
    tokio::time::sleep(A_WHILE).await;
    engine.shutdown().await;
    kept
}

async fn cluster_with_labels(world: &World) {
    let labels = [("region".to_owned(), "north".to_owned())].into();
    let registered = world.deployment.registered();
    registered.replace_labels(&world.caller, &cluster_id(1), labels).await.unwrap();
    let namespace = "operations".parse().unwrap();
    registered.replace_namespace(&world.caller, &cluster_id(1), Some(namespace)).await.unwrap();
}

async fn cloud_that_comes_and_goes(world: &mut World) {
    let stays = std::mem::replace(&mut world.cloud, LogicalCloudName::new("trial").unwrap());
    put(world, json!({"clusters": [{"provider": "sim", "cluster": "cluster-2"}]})).await;
    world.apply().await;
    world.done().await;
    world.terminate().await;
    world.done().await;
    world.deployment.clouds().delete(&world.caller, &world.project, &world.cloud).await.unwrap();
    world.cloud = stays;
}

/// With one of each kind of part, and users of both types who were given their kubeconfigs; renewed once.
async fn cloud_that_stays(world: &World) {
    put(world, everything()).await;
    world.apply().await;
    world.done().await;
    let clouds = world.deployment.clouds();
    let ann = UserName::new("ann").unwrap();
    for user in [&ann, &UserName::new("ci").unwrap()] {
        let given = clouds.kubeconfigs(&world.project, &world.cloud, Some(user), None).await.unwrap();
        clouds.handed_out(&world.caller, &given.access).await.unwrap();
    }
    clouds.renew(&world.caller, &world.project, &world.cloud, Some(&ann)).await.unwrap();
    world.done().await;
}

async fn put(world: &World, spec: Value) {
    let metadata = json!({"name": world.cloud, "description": "where the payments team works"});
    let draft: Draft = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    world.deployment.clouds().put(&world.caller, &world.project, draft).await.unwrap();
}

fn everything() -> Value {
    json!({
        "labels": {"team": "payments"},
        "users": [
            {"name": "ann", "description": "runs it", "lifetimeSeconds": 86_400},
            {"name": "ci", "type": "token"},
        ],
        "permissions": [
            {"name": "work", "users": ["ann"], "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
        ],
        "quotas": [{"name": "small", "hard": {"limits.cpu": "4", "pods": 20}}],
        "clusters": [{"name": "north", "provider": "sim", "cluster": "cluster-1"}],
        "keyValues": [{"name": "contact", "kv": [{"mail": "payments@example.com"}]}],
        "manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"},
            "data": {"log.level": "info"},
        }],
    })
}
