//! Opening, planning and serving.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;

use crate::common::{World, everything, kubeconfig, spec};
use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Cluster, Clusters, Error as ClusterError};
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Error, Registration};
use dcm_server::{Configuration, Deployment, ServeError, serve};
use dcm_sync::engine::{Acquire, Lost};
use dcm_sync::sim::{Link, cluster_id};
use serde_json::json;

fn registration(kubeconfig: String) -> Registration {
    Registration::new("p/c".parse().unwrap(), Secret::new(kubeconfig))
}

#[tokio::test]
async fn a_kubeconfig_that_runs_programs_or_reads_files_is_refused_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let deployment =
        Deployment::open(&Configuration::new("memory:", folder.path().join("keys"))).await.unwrap();
    for user in [json!({"exec": {"command": "login"}}), json!({"tokenFile": "/etc/passwd"})] {
        let registered = deployment.registered();
        let refused =
            registered.add(&Caller::new("test"), registration(kubeconfig(&user))).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
        assert!(refused.to_string().starts_with("kubeconfig: "), "{refused}");
    }
    // A store in memory needs no keys.
    assert!(!folder.path().join("keys").exists());
}

#[tokio::test]
async fn what_is_secret_is_kept_as_ciphertext_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let configuration = Configuration::new(store, folder.path().join("keys"));
    let text = kubeconfig(&json!({"token": "hunter2"}));
    let deployment = Deployment::open(&configuration).await.unwrap();
    deployment.registered().add(&Caller::new("test"), registration(text.clone())).await.unwrap();
    drop(deployment);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
    let again = Deployment::open(&configuration).await.unwrap();
    let id: ClusterId = "p/c".parse().unwrap();
    assert_eq!(again.registered().get(&id).await.unwrap().registration.kubeconfig.expose(), text);
}

#[tokio::test(start_paused = true)]
async fn a_served_deployment_works_until_it_is_stopped_and_gives_its_clusters_back() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    world.apply().await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let deployment = world.deployment.clone();
    let server = tokio::spawn(async move { serve(&deployment, async { stopped.await.unwrap() }).await });
    world.done().await;
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    assert_eq!(world.deployment.contexts().workers().await.unwrap(), []);

    let started = tokio::time::Instant::now();
    let engine = world.deployment.engine(Acquire::All);
    world.terminate().await;
    world.done().await;
    // The namespace takes five seconds; a lease that had to run out would take ten.
    assert!(started.elapsed() < std::time::Duration::from_secs(8), "{:?}", started.elapsed());
    engine.shutdown().await;
}

/// Clusters of an implementation with a fault.
struct Faulty;

#[async_trait]
impl Clusters for Faulty {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, ClusterError> {
        panic!("{cluster} can't be connected to")
    }
}

#[tokio::test(start_paused = true)]
async fn a_served_deployment_whose_engine_breaks_off_ends_with_that_without_being_stopped() {
    let world = World::with(1, |_| Arc::new(Faulty)).await;
    world.put(spec(&everything())).await;
    world.apply().await;
    let served = serve(&world.deployment, std::future::pending());
    let served = tokio::time::timeout(std::time::Duration::from_secs(60), served).await.unwrap();
    assert_eq!(served, Err(ServeError::Lost(Lost)));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_can_not_be_reached_is_done_when_it_comes_back() {
    let world = World::new(1).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.set_link(Link::Cut);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let deployment = world.deployment.clone();
    let server = tokio::spawn(async move { serve(&deployment, async { stopped.await.unwrap() }).await });
    world.put(spec(&everything())).await;
    world.apply().await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let status = world.deployment.clouds().status(&world.project, &world.cloud).await.unwrap();
    let lane = status.clusters[&cluster_id(1)].lane.clone().unwrap();
    assert!(lane.cause.is_some_and(|cause| cause.next_try.is_some()), "{status:?}");
    cluster.set_link(Link::Up);
    world.done().await;
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}
