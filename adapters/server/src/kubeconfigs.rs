//! Registered clusters as the source of kubeconfigs.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::Error;
use dcm_core::refusal::{Checks, Path, Refusals};
use dcm_core::secret::Secret;
use dcm_core::service::{self, KubeconfigCheck, RegisteredClusters};
use dcm_kube::Kubeconfigs;
use dcm_kube::kubeconfig::{self, Allowed, Permission, Refusal};

/// Gives the kubeconfig that a cluster was registered with; asked at each connect, so a replaced one counts at once. One that
/// needs more than is allowed is not given: a registration may be older than the settings, or made by a command that allows more. One that
/// leads to an endpoint that is not accepted is not given either.
pub(crate) struct Registered {
    pub(crate) clusters: RegisteredClusters,
    pub(crate) allowed: Allowed,
}

impl Registered {
    fn check(&self, text: &Secret) -> Result<(), Error> {
        match kubeconfig::check(text, &self.allowed) {
            Err(refusal @ Refusal::NotAllowed { permission, .. }) => {
                let setting = setting(permission);
                Err(Error::Kubeconfig {
                    reason: format!("{refusal}; the server's setting {setting} allows it"),
                })
            }
            checked => Ok(checked.map(drop)?),
        }
    }
}

/// The setting that allows it.
fn setting(permission: Permission) -> &'static str {
    match permission {
        Permission::ExecCommands => "kubeconfigs.execCommands",
        Permission::Files => "kubeconfigs.files",
        Permission::Insecure => "kubeconfigs.insecure",
        Permission::Proxy => "kubeconfigs.proxy",
    }
}

#[async_trait]
impl Kubeconfigs for Registered {
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error> {
        match self.clusters.get(cluster).await {
            Ok(found) if found.is_moved => Err(Error::Moved),
            Ok(found) => {
                let kubeconfig = found.registration.kubeconfig;
                self.check(&kubeconfig).map(|()| kubeconfig)
            }
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
