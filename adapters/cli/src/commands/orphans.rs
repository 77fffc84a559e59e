//! `dcm orphans`: what clusters hold of ours that the store does not know of.

use std::collections::BTreeMap;

use anyhow::Context as _;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::synchronizer::Disposal;
use dcm_server::{Cleared, Orphan};

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::Session;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Shows objects that carry our marks and belong to no app context that the store knows. Changes nothing.
    ///
    /// Another installation that works under the same owner's name has its own store: what it made is shown here, too.
    List {
        /// The cluster. Default: all that are registered.
        #[arg(value_name = "PROVIDER/CLUSTER")]
        cluster: Option<ClusterId>,
    },
    /// Removes the orphans of one app context. What was there before us, and a namespace with objects of others, is
    /// released.
    Remove(Of),
    /// Takes our marks off the orphans of one app context, and leaves them: then a logical cloud can adopt its namespace.
    Release(Of),
}

/// Which orphans.
#[derive(Debug, clap::Args)]
pub(crate) struct Of {
    /// The cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    cluster: ClusterId,
    /// The app context, as the list shows it.
    #[arg(value_name = "CONTEXT")]
    context: ContextId,
}

pub(crate) async fn run(global: &Global, command: &Command) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let orphans = match command {
        Command::List { cluster } => list(&session, cluster.as_ref()).await?,
        Command::Remove(of) => clear(&session, of, Disposal::Delete).await?,
        Command::Release(of) => clear(&session, of, Disposal::Keep).await?,
    };
    output::print_either(session.format, &orphans, || table(&orphans))?;
    Ok(Exit::Done)
}

type Orphans = BTreeMap<ClusterId, Vec<Orphan>>;

async fn list(session: &Session, only: Option<&ClusterId>) -> anyhow::Result<Orphans> {
    let clusters = match only {
        Some(cluster) => vec![cluster.clone()],
        None => session.clusters().await?.into_iter().map(|one| one.registration.id).collect(),
    };
    let mut orphans = Orphans::new();
    for cluster in clusters {
        let found = session.deployment.orphans(&cluster).await;
        orphans.insert(cluster.clone(), found.with_context(|| cluster.to_string())?);
    }
    Ok(orphans)
}

async fn clear(session: &Session, of: &Of, disposal: Disposal) -> anyhow::Result<Orphans> {
    let cleared = session.deployment.clear_orphans(&session.caller, &of.cluster, &of.context, disposal).await;
    Ok(Orphans::from([(of.cluster.clone(), cleared.with_context(|| of.cluster.to_string())?)]))
}

fn table(orphans: &Orphans) -> String {
    let row = |cluster: &ClusterId, orphan: &Orphan| {
        let cleared = match orphan.cleared {
            None => "-",
            Some(Cleared::Deleted) => "deleted",
            Some(Cleared::Released) => "released",
        };
        let (context, generation) = (orphan.context.to_string(), orphan.generation.to_string());
        [cluster.to_string(), context, generation, orphan.object.to_string(), cleared.to_owned()]
    };
    let rows = orphans.iter().flat_map(|(cluster, found)| found.iter().map(move |one| row(cluster, one)));
    output::columns(["CLUSTER", "CONTEXT", "GENERATION", "OBJECT", "CLEARED"], rows)
}
