//! Whether a cluster is ready, before it is registered so.

use anyhow::Context as _;
use dcm_core::kubeconfig::Admin;
use dcm_core::port::cluster::Error;
use dcm_core::preflight::{Findings, Needs};
use dcm_core::service::Registration;
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};

use super::check;
use crate::exit::{Ended, Exit};
use crate::session::Session;

/// Looks at the cluster and prints what is found. One that is not ready is refused; `undone` says what is then not done.
pub(super) async fn must_be(
    session: &Session,
    registration: &Registration,
    needs: &Needs,
    undone: &str,
) -> anyhow::Result<KubeCluster> {
    let id = &registration.id;
    let looked = look(session, registration, needs).await;
    let (cluster, findings) = looked.with_context(|| format!("{id} {undone}"))?;
    check::print(session, id, &findings)?;
    if findings.is_ready() {
        return Ok(cluster);
    }
    Err(Ended::new(Exit::Stuck, format!("{id} {undone}: mend this, or say --unchecked")).into())
}

/// Asks the cluster. An error names the field of the kubeconfig that it comes from.
async fn look(
    session: &Session,
    registration: &Registration,
    needs: &Needs,
) -> anyhow::Result<(KubeCluster, Findings)> {
    let Registration { id, kubeconfig, .. } = registration;
    let options = Options { allowed: Allowed::everything(), ..Options::default() };
    let looked = async {
        let cluster = KubeCluster::connect(kubeconfig, &options).await?;
        let findings = check::ask(session, id, &cluster, needs).await?;
        Ok((cluster, findings))
    };
    looked.await.map_err(|error: anyhow::Error| match error.downcast_ref() {
        Some(Error::Kubeconfig { reason }) => {
            Ended::new(Exit::Refused, format!("kubeconfig: {reason}")).into()
        }
        Some(Error::Unauthorized { .. }) => error.context("users[].user"),
        _ => {
            let server =
                Admin::read(kubeconfig).map_or_else(|_| String::new(), |admin| admin.server().to_owned());
            error.context(format!("clusters[].cluster.server {server}"))
        }
    })
}
