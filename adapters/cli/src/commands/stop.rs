//! `dcm stop`: pauses the work on a logical cloud.

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

pub(crate) async fn run(global: &Global, Named { name }: &Named) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    session.deployment.clouds().stop(&session.caller, &session.project, name).await?;
    output::note(format_args!("{name}: stopped; what is under way is finished, nothing more begins"));
    Ok(Exit::Done)
}
