//! Where clusters come from: kubeconfigs.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Cluster, Clusters, Error};
use dcm_core::secret::Secret;

use crate::cluster::KubeCluster;
use crate::options::Options;

/// Where kubeconfigs come from.
///
/// It is asked at every connect, so what it answers may have credentials that live for minutes only.
#[async_trait]
pub trait Kubeconfigs: Send + Sync + 'static {
    /// The kubeconfig of a cluster, as YAML or JSON.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] when there is none, [`Error::Unreachable`] when it can't be looked up now.
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error>;
}

/// Real clusters, reached by their kubeconfigs.
pub struct KubeClusters {
    kubeconfigs: Arc<dyn Kubeconfigs>,
    options: Options,
}

impl KubeClusters {
    /// Takes kubeconfigs from here, and reaches clusters so.
    #[must_use]
    pub fn new(kubeconfigs: Arc<dyn Kubeconfigs>, options: Options) -> Self {
        Self { kubeconfigs, options }
    }
}

#[async_trait]
impl Clusters for KubeClusters {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error> {
        let kubeconfig = self.kubeconfigs.kubeconfig(cluster).await?;
        self.connect_with(cluster, &kubeconfig).await
    }

    async fn connect_with(&self, _: &ClusterId, kubeconfig: &Secret) -> Result<Arc<dyn Cluster>, Error> {
        Ok(Arc::new(KubeCluster::connect(kubeconfig, &self.options).await?))
    }
}
