//! `dcm delete`: deletes a logical cloud that is on no cluster.

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

pub(crate) async fn run(global: &Global, Named { name }: &Named) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    session.clouds().delete(&session.project, name).await?;
    output::note(format_args!("{name}: deleted"));
    Ok(Exit::Done)
}
