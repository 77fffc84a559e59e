//! Where clusters come from: kubeconfigs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Cluster, Clusters, Error};
use dcm_core::secret::Secret;

use crate::budget::Budget;
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
    /// [`Error::Kubeconfig`] when there is none, [`Error::Moved`] when it leads to an endpoint that is not accepted,
    /// [`Error::Unreachable`] when it can't be looked up now.
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error>;
}

/// Real clusters, reached by their kubeconfigs.
pub struct KubeClusters {
    kubeconfigs: Arc<dyn Kubeconfigs>,
    options: Options,
    budgets: Budgets,
}

/// The budgets of clusters, over all their connections.
#[derive(Default)]
struct Budgets {
    known: Mutex<BTreeMap<ClusterId, Arc<Budget>>>,
}

impl Budgets {
    fn of(&self, cluster: &ClusterId, options: &Options) -> Arc<Budget> {
        // Nothing panics while it is locked.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(cluster) && known.len().is_power_of_two() {
            // From time to time, budgets without a connection and without a debt are dropped.
            known.retain(|_, budget| Arc::strong_count(budget) > 1 || !budget.is_rested());
        }
        known.entry(cluster.clone()).or_insert_with(|| Arc::new(Budget::new(options))).clone()
    }
}

impl KubeClusters {
    /// Takes kubeconfigs from here, and reaches clusters so.
    #[must_use]
    pub fn new(kubeconfigs: Arc<dyn Kubeconfigs>, options: Options) -> Self {
        Self { kubeconfigs, options, budgets: Budgets::default() }
    }
}

#[async_trait]
impl Clusters for KubeClusters {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error> {
        let kubeconfig = self.kubeconfigs.kubeconfig(cluster).await?;
        let budget = self.budgets.of(cluster, &self.options);
        Ok(Arc::new(KubeCluster::connect_within(&kubeconfig, &self.options, budget).await?))
    }

    async fn connect_with(&self, _: &ClusterId, kubeconfig: &Secret) -> Result<Arc<dyn Cluster>, Error> {
        // It may be another server than the one that is known by this name, so it has a budget of its own.
        Ok(Arc::new(KubeCluster::connect(kubeconfig, &self.options).await?))
    }
}
