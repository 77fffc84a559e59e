//! `dcm resume`: goes on with the work on a logical cloud.

use super::report;
use crate::arguments::{Awaited, Global};
use crate::exit::Exit;
use crate::session::Session;

pub(crate) async fn run(global: &Global, Awaited { cloud, waiting }: &Awaited) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    session.clouds().resume(&session.project, &cloud.name).await?;
    report::wait_for(&session, &cloud.name, waiting).await
}
