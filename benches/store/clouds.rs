//! What is asked of a store when a document becomes an app context, by the services of logical clouds.

use std::sync::Arc;

use anyhow::Result;
use dcm_benches::cloud::{PROJECT, draft};
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::port::clock::Clock;
use dcm_core::service::{Caller, Registration};
use dcm_server::{Deployment, Parts};
use dcm_sync::engine::Options;
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::Fleet;

use super::counted::{Asked, Counted};
use super::places::{Backend, Places};

/// What it costs, each call alone.
pub(crate) struct Costs {
    /// `LogicalClouds::put`.
    pub(crate) put: Asked,
    /// `LogicalClouds::apply`.
    pub(crate) apply: Asked,
}

impl Costs {
    pub(crate) fn requests(&self) -> u64 {
        self.put.requests() + self.apply.requests()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.put.bytes() + self.apply.bytes()
    }
}

/// Puts and applies one cloud on clusters that are registered. Entries of the audit log are among what is counted.
pub(crate) async fn instantiate(places: &Places, backend: Backend, clusters: u32) -> Result<Costs> {
    let counted = Counted::over(places.open(backend, &format!("clouds-{clusters}")).await?, &places.keys);
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
    let fleet = Arc::new(Fleet::builder(clock.clone()).clusters(clusters as usize).build());
    let deployment = Deployment::over(Parts {
        store: counted.store.clone(),
        contexts_store: counted.store.clone(),
        clusters: fleet.clone(),
        check: Arc::new(|_| Ok(())),
        engine: Options::default(),
        clock,
        random: Arc::new(OsRandom),
    });
    let (caller, project) = (Caller::new("bench"), ProjectName::new(PROJECT)?);
    let metadata = MetadataDraft::named(PROJECT);
    deployment.projects().create(&caller, metadata).await?;
    for (id, kubeconfig) in fleet.kubeconfigs() {
        deployment.registered().add(&caller, Registration::new(id, kubeconfig)).await?;
    }
    let mut draft = draft("bench-store")?;
    draft.spec.cluster_selector = Some(Default::default());
    counted.take();
    deployment.clouds().put(&caller, &project, draft).await?;
    let put = counted.take();
    deployment.clouds().apply(&caller, &project, &LogicalCloudName::new("bench-store")?).await?;
    Ok(Costs { put, apply: counted.take() })
}
