//! A small world in which every kind of document is written.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::AppContext;
use dcm_core::causes::Reader;
use dcm_core::controller::{ControllerDraft, ControllerGroup};
use dcm_core::kubeconfig::UserEndpoint;
use dcm_core::logical_cloud::{Draft, KeyValuesDraft, MetadataDraft};
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};
use dcm_core::port::clock::{Clock, Seeded};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::{Disposal, STOP_LIMIT};
use dcm_core::render;
use dcm_core::render::naming::Identity;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, PartDraft, PartName, Precondition, Presence, Registration, Remains};
use dcm_core::status::Reason;
use dcm_server::{Installation as _, serve};
use dcm_store::EncryptedStore;
use dcm_store::encrypted::{KEY_BYTES, Keyring};
use dcm_sync::planning::Rehearsing;
use dcm_sync::sim::cluster_id;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::common::kept::{Kept, during};
use crate::common::{Ground, World, kubeconfig};

/// Long enough for a worker to renew its session and to forget what was deleted.
const A_WHILE: Duration = Duration::from_secs(20);

/// Who writes in the play's own task while no call is under way.
pub(crate) const NOBODY: &str = "nobody";

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
    during("EncryptedStore::note_keys", store.note_keys()).await.unwrap();
    let ground = Ground {
        store: Arc::new(store),
        clock: Arc::new(Paused(Instant::now())),
        random: Arc::new(Seeded::new(1)),
    };
    let mut world = World::on(ground, 2, |fleet| fleet).await;
    world.caller = Caller::new("ann@example.com").because("a new team").with_request_id("ticket-17");
    let deployment = world.deployment.clone();
    let (stop, stopped) = oneshot::channel();
    let worker = tokio::spawn(async move { serve(&deployment, async { drop(stopped.await) }).await });
    changed_cluster(&world).await;
    cloud_that_comes_and_goes(&mut world).await;
    cloud_that_stays(&world).await;
    tokio::time::sleep(A_WHILE).await;
    cloud_with_incidents(&mut world).await;
    Box::pin(what_goes(&world)).await;
    tokio::time::sleep(A_WHILE).await;
    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
    kept
}

/// One of the first cluster's things after another is changed.
async fn changed_cluster(world: &World) {
    let (registered, caller, id) = (world.deployment.registered(), &world.caller, cluster_id(1));
    let other = Secret::new(kubeconfig(&json!({"token": "other"})));
    let all = |old| Registration {
        kubeconfig: other.clone(),
        user_endpoint: Some(UserEndpoint {
            server: "https://cluster-1.example.com:6443".to_owned(),
            certificate_authority_data: None,
            tls_server_name: Some("kubernetes".to_owned()),
        }),
        labels: [("region".to_owned(), "north".to_owned())].into(),
        namespace: Some("operations".parse().unwrap()),
        ..old
    };
    let any = Precondition::default();
    during("RegisteredClusters::edit", registered.edit(caller, &id, &any, all)).await.unwrap();
    during("RegisteredClusters::put_label", registered.put_label(caller, &id, "edge", Presence::Any))
        .await
        .unwrap();
    let notes = json!({"name": "gateway", "kv": [{"address": "192.0.2.10"}]});
    let notes: KeyValuesDraft = serde_json::from_value(notes).unwrap();
    for name in ["gateway", "trial"] {
        let notes = KeyValuesDraft { name: name.into(), ..notes.clone() };
        let put = registered.put_key_values(caller, &id, notes, Presence::Any);
        during("RegisteredClusters::put_key_values", put).await.unwrap();
    }
    let trial = "trial".parse().unwrap();
    let delete = registered.delete_key_values(caller, &id, &trial);
    during("RegisteredClusters::delete_key_values", delete).await.unwrap();
    during("RegisteredClusters::delete_label", registered.delete_label(caller, &id, "edge")).await.unwrap();
    during("RegisteredClusters::stop", registered.stop(caller, &id, STOP_LIMIT)).await.unwrap();
    during("RegisteredClusters::resume", registered.resume(caller, &id)).await.unwrap();
}

async fn cloud_that_comes_and_goes(world: &mut World) {
    let stays = std::mem::replace(&mut world.cloud, LogicalCloudName::new("trial").unwrap());
    put(world, json!({"clusters": [{"provider": "sim", "cluster": "cluster-2"}]})).await;
    apply_as_planned(world).await;
    world.done().await;
    go(world).await;
    world.cloud = stays;
}

/// Applies a cloud without users, as it was looked at before.
async fn apply_as_planned(world: &World) {
    let (clouds, project, cloud) = (world.deployment.clouds(), &world.project, &world.cloud);
    let described = clouds.get(project, cloud).await.unwrap();
    let identity = Identity::of(&described.cloud);
    let bundle = Arc::new(render::bundle(&described.cloud, &render::Credentials::new()).unwrap());
    let clusters = described.cloud.references().iter().map(|reference| reference.cluster.clone());
    let context = AppContext {
        id: identity.context_id(),
        labels: identity.labels(),
        removal: described.cloud.removal(),
        placements: clusters.map(|cluster| (cluster, bundle.clone())).collect(),
    };
    let planned = world.deployment.planner().plan_one(context, Rehearsing::Nothing).await.unwrap().state();
    let apply = clouds.apply_as_planned(&world.caller, project, cloud, &planned);
    during("LogicalClouds::apply_as_planned", apply).await.unwrap();
}

async fn go(world: &World) {
    world.terminate().await;
    world.done().await;
    let delete = world.deployment.clouds().delete(&world.caller, &world.project, &world.cloud);
    during("LogicalClouds::delete", delete).await.unwrap();
}

/// With one of each kind of part, and users of all types who were given their kubeconfigs; renewed once.
async fn cloud_that_stays(world: &World) {
    put(world, everything()).await;
    put_user(world, json!({"name": "eve", "csr": request(world, "eve").await})).await;
    world.apply().await;
    world.done().await;
    let (clouds, caller) = (world.deployment.clouds(), &world.caller);
    let ann = UserName::new("ann").unwrap();
    for user in [&ann, &UserName::new("ci").unwrap()] {
        let given = clouds.hand_out(caller, &world.project, &world.cloud, Some(user), None);
        let given = during("LogicalClouds::hand_out", given).await.unwrap();
        during("LogicalClouds::handed_out", clouds.handed_out(caller, &given.access)).await.unwrap();
    }
    let renew = clouds.renew(caller, &world.project, &world.cloud, Some(&ann));
    during("LogicalClouds::renew", renew).await.unwrap();
    world.done().await;
}

/// A cloud to which all happens that may happen to one, until it goes.
async fn cloud_with_incidents(world: &mut World) {
    let stays = std::mem::replace(&mut world.cloud, LogicalCloudName::new("work").unwrap());
    put(world, json!({"clusters": [{"provider": "sim", "cluster": "cluster-2"}]})).await;
    for user in ["ann", "bob"] {
        put_user(world, json!({"name": user})).await;
    }
    let id = cluster_id(2);
    let uid = world.fleet.cluster(&id).unwrap().server(|server| server.uid());
    accept(world, &id, ClusterUid("another".into())).await;
    world.apply().await;
    world.until_hindered(&id, Reason::ClusterChanged).await;
    accept(world, &id, uid).await;
    let (clouds, caller) = (world.deployment.clouds(), &world.caller);
    let (project, cloud) = (&world.project, &world.cloud);
    during("LogicalClouds::stop", clouds.stop(caller, project, cloud, STOP_LIMIT)).await.unwrap();
    during("LogicalClouds::resume", clouds.resume(caller, project, cloud)).await.unwrap();
    world.done().await;
    during("LogicalClouds::reconcile", clouds.reconcile(caller, project, cloud)).await.unwrap();
    world.done().await;
    let [ann, bob] = ["ann", "bob"].map(|user| UserName::new(user).unwrap());
    during("LogicalClouds::revoke", clouds.revoke(caller, project, cloud, &ann)).await.unwrap();
    let remove =
        world.deployment.remove_other_bindings(caller, (project, cloud), Some(&ann), Reader::PlatformAdmin);
    during("Installation::remove_other_bindings", remove).await.unwrap();
    let bob = PartName::User(bob);
    let any = Precondition::default();
    let delete = clouds.delete_part(caller, project, cloud, &bob, &any);
    during("LogicalClouds::delete_part", delete).await.unwrap();
    world.apply().await;
    world.done().await;
    go(world).await;
    world.cloud = stays;
}

async fn accept(world: &World, cluster: &ClusterId, uid: ClusterUid) {
    let registration = world.deployment.registered().get(cluster).await.unwrap().registration;
    let accept = world.deployment.accept(&world.caller, &registration, &uid);
    during("Installation::accept", accept).await.unwrap();
}

/// A cluster and a project that nobody needs any more.
async fn what_goes(world: &World) {
    let (registered, projects, caller) =
        (world.deployment.registered(), world.deployment.projects(), &world.caller);
    let unused = cluster_id(2);
    let lost = ContextId::new("dcm-p-lost-497305c5d1aab99f").unwrap();
    let release = world.deployment.clear_orphans(caller, &unused, &lost, Disposal::Keep);
    during("Installation::clear_orphans", release).await.unwrap();
    let remove = registered.remove(caller, &unused, Remains::Refuse);
    during("RegisteredClusters::remove", remove).await.unwrap();
    let provider = MetadataDraft { name: "edge".into(), ..MetadataDraft::default() };
    let (providers, edge) = (world.deployment.providers(), "edge".parse().unwrap());
    during("Providers::put", providers.put(caller, provider)).await.unwrap();
    during("Providers::delete", providers.delete(caller, &edge)).await.unwrap();
    let (controllers, group) = (world.deployment.controllers(), ControllerGroup::Orchestrator);
    let metadata = MetadataDraft { name: "scheduler".into(), ..MetadataDraft::default() };
    let (host, kind) = ("scheduler.example".into(), "placement".into());
    let draft = ControllerDraft { metadata, host, port: 9099, kind, priority: 1 };
    let any = Precondition::default();
    during("Controllers::put", controllers.put(caller, group, draft, &any)).await.unwrap();
    let scheduler = "scheduler".parse().unwrap();
    let delete = controllers.delete(caller, group, &scheduler, &any);
    during("Controllers::delete", delete).await.unwrap();
    let other = ProjectName::new("trials").unwrap();
    let metadata = MetadataDraft { name: other.to_string(), ..MetadataDraft::default() };
    during("Projects::put", projects.put(caller, metadata)).await.unwrap();
    during("Projects::delete", projects.delete(caller, &other)).await.unwrap();
}

async fn put(world: &World, spec: Value) {
    let metadata = json!({"name": world.cloud, "description": "where the payments team works"});
    let draft: Draft = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    let put = world.deployment.clouds().put(&world.caller, &world.project, draft);
    during("LogicalClouds::put", put).await.unwrap();
}

async fn put_user(world: &World, user: Value) {
    let user = PartDraft::User(serde_json::from_value(user).unwrap());
    let any = Precondition::default();
    let put = world.deployment.clouds().put_part(&world.caller, &world.project, &world.cloud, user, &any);
    during("LogicalClouds::put_part", put).await.unwrap();
}

/// A request for a certificate that a user makes who keeps the key.
async fn request(world: &World, user: &str) -> String {
    let user = UserName::new(user).unwrap();
    let subject = world.deployment.clouds().subject(&world.project, &world.cloud, &user).await.unwrap();
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    let name = &mut parameters.distinguished_name;
    name.push(DnType::OrganizationName, subject.organization().unwrap());
    name.push(DnType::CommonName, subject.common_name());
    parameters.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
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
        "serviceMesh": {"dns": {"enabled": false}},
        "keyValues": [{"name": "contact", "kv": [{"mail": "payments@example.com"}]}],
        "manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"},
            "data": {"log.level": "info"},
        }],
    })
}
