//! `dcm credential`: a credential plugin for clients of Kubernetes.

use anyhow::Context as _;
use dcm_core::kubeconfig::exec_credential;
use dcm_core::name::ReferenceName;
use dcm_core::service::Error;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{NamedUser, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    named: NamedUser,
    /// The cluster reference.
    #[arg(value_name = "CLUSTER_REFERENCE")]
    reference: ReferenceName,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let Arguments { named: NamedUser { cloud, user }, reference } = arguments;
    let clouds = session.here()?.clouds();
    let found = clouds.kubeconfigs(&session.project, &cloud.name, Some(user), Some(reference)).await?;
    let has_none = "there is no credential for this reference";
    let access = found.access.clusters.get(reference).context(has_none)?;
    let hold = found.holds.get(reference).context(has_none)?;
    let said = exec_credential(&access.credential, hold.until);
    let said = said.ok_or_else(|| Error::NeedsUser { user: user.clone() })?;
    output::print(said.expose())?;
    Ok(Exit::Done)
}
