//! The real API servers, and the names of their clusters.

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use dcm_benches::size::Size;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::Error;
use dcm_core::secret::Secret;
use dcm_kube::Kubeconfigs;
use dcm_testenv::{Cluster, Environment, Route};
use std::collections::BTreeMap;

/// How many there are.
const CLUSTERS: usize = 3;

/// The cluster provider of all.
const PROVIDER: &str = "bench";

pub(crate) struct Servers {
    environment: Environment,
}

impl Servers {
    pub(crate) async fn start(size: Size) -> Result<Self> {
        let environment = Environment::builder().clusters(size.of(CLUSTERS, 1)).start().await;
        Ok(Self { environment: environment.context("real API servers")? })
    }

    pub(crate) fn clusters(&self) -> &[Cluster] {
        self.environment.clusters()
    }

    pub(crate) fn ids(&self) -> Result<Vec<ClusterId>> {
        self.clusters().iter().map(|cluster| Ok(ClusterId::new(PROVIDER, cluster.name())?)).collect()
    }

    /// The administrators' kubeconfigs.
    pub(crate) fn kubeconfigs(&self) -> Result<Administrators> {
        let texts =
            self.clusters().iter().map(|cluster| Secret::new(cluster.admin_kubeconfig(Route::Direct)));
        Ok(Administrators(self.ids()?.into_iter().zip(texts).collect()))
    }
}

/// Kubeconfigs by cluster.
pub(crate) struct Administrators(pub(crate) BTreeMap<ClusterId, Secret>);

#[async_trait]
impl Kubeconfigs for Administrators {
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error> {
        let known = self.0.get(cluster).cloned();
        known.ok_or_else(|| Error::Kubeconfig { reason: format!("there is no cluster {cluster}") })
    }
}
