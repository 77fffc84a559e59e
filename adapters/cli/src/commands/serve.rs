//! `dcm serve`: a worker that keeps everything in the store in sync.

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::Session;
use crate::work;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) async fn run(global: &Global, _: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    output::note("serving; interrupt to stop");
    let mut failed = None;
    let stop = async {
        failed = work::interrupted().await.err();
        output::note("stopping");
    };
    dcm_server::serve(&session.deployment, stop).await?;
    match failed {
        Some(error) => Err(error),
        None => Ok(Exit::Done),
    }
}
