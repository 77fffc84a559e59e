//! Registered clusters as the source of kubeconfigs.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::Error;
use dcm_core::refusal::{Checks, Path, Refusals};
use dcm_core::secret::Secret;
use dcm_core::service::{self, KubeconfigCheck, RegisteredClusters};
use dcm_kube::Kubeconfigs;
use dcm_kube::kubeconfig::{self, Allowed};

/// Gives the kubeconfig that a cluster was registered with; asked at each connect, so a replaced one counts at once.
pub(crate) struct Registered(pub(crate) RegisteredClusters);

#[async_trait]
impl Kubeconfigs for Registered {
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error> {
        match self.0.get(cluster).await {
            Ok(found) => Ok(found.registration.kubeconfig),
            Err(service::Error::NotFound { .. }) => {
                Err(Error::Kubeconfig { reason: format!("cluster {cluster} is not registered") })
            }
            Err(error) => Err(Error::Unreachable { source: Arc::new(error) }),
        }
    }
}

/// Refuses a kubeconfig that would do more than is allowed.
pub(crate) fn check_for(allowed: Allowed) -> KubeconfigCheck {
    Arc::new(move |text: &Secret| check(text, &allowed))
}

fn check(text: &Secret, allowed: &Allowed) -> Result<(), Refusals> {
    let mut checks = Checks::default();
    if let Err(refusal) = kubeconfig::check(text, allowed) {
        checks.refuse(&Path::root().field("kubeconfig"), "", refusal.to_string());
    }
    checks.finish(Some(()))
}
