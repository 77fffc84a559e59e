//! A manager over simulated clusters, as a controller links it in.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::time::Duration;

use dcm_core::logical_cloud::Serial;
use dcm_core::service::CloudStatus;
use dcm_core::status::Progress;
use dcm_manager::prelude::*;
use futures::StreamExt as _;
use futures::future::ready;
use serde_json::json;

/// Longer than anything here takes, in virtual time.
const SOON: Duration = Duration::from_secs(60);

struct World {
    fleet: Arc<Fleet>,
    manager: Manager,
    caller: Caller,
    project: ProjectName,
    cloud: LogicalCloudName,
}

impl World {
    /// Two registered clusters, a project, and a stored logical cloud with one user whose certificates hold for an hour.
    async fn new() -> Self {
        let fleet = Fleet::simulated(2);
        let store = dcm_store::open("memory:").await.unwrap();
        let manager = Manager::builder(store, fleet.clone()).owner(OwnerId::new("mine").unwrap()).spawn();
        let caller = Caller::new("my-controller");
        for (cluster, kubeconfig) in fleet.kubeconfigs() {
            manager.clusters().add(&caller, Registration::new(cluster, kubeconfig)).await.unwrap();
        }
        let (project, cloud) = (ProjectName::new("p").unwrap(), LogicalCloudName::new("c").unwrap());
        manager.projects().create(&caller, MetadataDraft::named(&project)).await.unwrap();
        let draft = json!({
            "metadata": {"name": "c"},
            "spec": {"users": [{"name": "dev", "lifetimeSeconds": 3600}], "clusterSelector": {}},
        });
        let draft = serde_json::from_value(draft).unwrap();
        manager.clouds().put(&caller, &project, draft).await.unwrap();
        Self { fleet, manager, caller, project, cloud }
    }

    async fn apply(&self) {
        self.manager.clouds().apply(&self.caller, &self.project, &self.cloud).await.unwrap();
        self.done().await;
    }

    async fn done(&self) {
        let waiting = self.manager.clouds().wait_until_done(&self.project, &self.cloud);
        let ended = tokio::time::timeout(SOON, waiting).await.unwrap().unwrap();
        assert_eq!(ended.context.progress, Progress::Done);
    }

    /// How many objects of all clusters carry the installation's marks.
    fn owned(&self) -> usize {
        let clusters = self.fleet.ids().filter_map(|id| self.fleet.cluster(id));
        clusters
            .map(|cluster| {
                cluster.server(|server| server.objects().filter(|object| object.marks.is_some()).count())
            })
            .sum()
    }

    /// The serial of the user's credential.
    async fn serial(&self) -> Serial {
        let status = self.manager.clouds().status(&self.project, &self.cloud).await.unwrap();
        serial_in(&status)
    }
}

fn serial_in(status: &CloudStatus) -> Serial {
    status.credentials[&UserName::new("dev").unwrap()].serial
}

#[tokio::test(start_paused = true)]
async fn a_logical_cloud_comes_and_goes_and_nothing_is_left() {
    let world = World::new().await;
    world.apply().await;
    assert!(world.owned() > 0);
    let found = world.manager.clouds().kubeconfigs(&world.project, &world.cloud, None, None).await.unwrap();
    assert_eq!(found.access.clusters.len(), 2);
    let terminate =
        world.manager.clouds().terminate(&world.caller, &world.project, &world.cloud, Removal::default());
    terminate.await.unwrap();
    world.done().await;
    assert_eq!(world.owned(), 0);
    world.manager.clouds().delete(&world.caller, &world.project, &world.cloud).await.unwrap();
    world.manager.shutdown().await;
    assert_eq!(world.manager.stopped().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn credentials_are_renewed_in_time_without_a_call() {
    let world = World::new().await;
    world.apply().await;
    let first = world.serial().await;
    let statuses = world.manager.clouds().follow(&world.project, &world.cloud).await.unwrap();
    let renewed = statuses.filter(|status| ready(serial_in(status.as_ref().unwrap()) > first));
    let hour = Duration::from_secs(3600);
    assert!(tokio::time::timeout(hour, Box::pin(renewed).next()).await.unwrap().is_some());
    world.manager.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_when_its_last_copy_is_dropped() {
    let World { manager, .. } = World::new().await;
    let engine = manager.engine().clone();
    let copy = manager.clone();
    drop(manager);
    assert!(engine.metrics().await.is_some());
    drop(copy);
    let events = engine.events();
    drop(engine);
    let ended = tokio::time::timeout(SOON, events.count()).await;
    assert!(ended.is_ok());
}
