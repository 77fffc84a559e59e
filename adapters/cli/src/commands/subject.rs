//! `dcm subject`: the subject that a user's own certificate request must have.

use dcm_core::name::UserName;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    /// The user; need not be in the logical cloud yet.
    #[arg(value_name = "USER")]
    user: UserName,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let (cloud, user) = (&arguments.cloud.name, &arguments.user);
    let subject = session.deployment.clouds().subject(&session.project, cloud, user).await?;
    output::print_either(session.format, &subject, || format!("{subject}\n"))?;
    Ok(Exit::Done)
}
