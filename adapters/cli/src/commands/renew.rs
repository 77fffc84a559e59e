//! `dcm renew`: newer credentials, without waiting for a worker to do it in time.

use dcm_core::name::UserName;
use dcm_core::service::Renewed;

use super::report;
use crate::arguments::{Global, Waiting};
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    /// Renews the credentials of this user, due or not. Default: all that are due.
    #[arg(short, long, value_name = "NAME")]
    user: Option<UserName>,
    #[command(flatten)]
    waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let (cloud, user) = (&arguments.cloud.name, arguments.user.as_ref());
    let renewed = session.clouds().renew(&session.project, cloud, user).await?;
    if renewed.generation.is_none() {
        output::note(format_args!("{cloud}: no credential is due"));
    }
    note(&renewed);
    report::wait_for(&session, cloud, &arguments.waiting).await
}

/// Says whose credentials are renewed, and which authorities.
pub(super) fn note(renewed: &Renewed) {
    for cluster in &renewed.authorities {
        output::note(format_args!(
            "{cluster}: its certificate authority is renewed; what the earlier one signed is good until it ends"
        ));
    }
    for user in renewed.users.keys() {
        output::note(format_args!("{user}: renewed; the earlier credential is good until it ends"));
    }
}
