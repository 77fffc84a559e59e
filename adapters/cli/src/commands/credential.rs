//! `dcm credential`: a credential plugin for clients of Kubernetes.

use dcm_core::name::ReferenceName;

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
    let said = session.clouds().credential(&session.project, &cloud.name, user, reference).await?;
    output::print(said.expose())?;
    Ok(Exit::Done)
}
