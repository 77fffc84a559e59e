//! `dcm orphans`: what clusters hold of ours that the store does not know of.

use std::collections::BTreeMap;

use anyhow::Context as _;
use dcm_core::causes;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::synchronizer::Disposal;
use dcm_core::service::{Cleared, Orphan, Orphans};
use serde::Serialize;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::place::All;
use crate::session::Session;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Lists objects that carry the marks of this installation and belong to no app context in the store.
    ///
    /// Nothing is changed, with one exception: where the engine may not list all kinds in the whole cluster, as with the least
    /// role, it binds the ClusterRole dcm:namespace to itself in the namespaces that it looks into.
    ///
    /// Objects of another installation with the same owner and another store are listed, too. All clusters are asked at once.
    /// Clusters that don't answer are reported on standard error, and the exit code is 1.
    List {
        /// Name of the cluster. Default: all registered clusters.
        #[arg(value_name = "PROVIDER/CLUSTER")]
        cluster: Option<ClusterId>,
    },
    /// Removes the orphans of one app context from a cluster.
    ///
    /// Adopted objects, and a namespace with objects of other clients, are released.
    Remove(Of),
    /// Removes the marks from the orphans of one app context, and leaves the objects.
    ///
    /// Then a logical cloud can adopt its namespace. Bindings are deleted: the rights of its users end.
    Release(Of),
}

/// Which orphans.
#[derive(Debug, clap::Args)]
pub(crate) struct Of {
    /// Name of the cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    cluster: ClusterId,
    /// ID of the app context, as `dcm orphans list` shows it.
    #[arg(id = "app_context", value_name = "CONTEXT")]
    context: ContextId,
}

pub(crate) async fn run(global: &Global, command: &Command) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let clusters = match command {
        Command::List { cluster } => list(&session, cluster.as_ref()).await?,
        Command::Remove(of) => clear(&session, of, Disposal::Delete).await?,
        Command::Release(of) => clear(&session, of, Disposal::Keep).await?,
    };
    output::print_either(session.format, &clusters, || table(&clusters))?;
    Ok(say_unknown(&clusters))
}

/// Says what could not be looked through; then the list may not be whole.
fn say_unknown(clusters: &Clusters) -> Exit {
    let mut exit = Exit::Done;
    for (cluster, found) in clusters {
        let error = found.error.iter().map(|error| format!("{cluster} could not be looked through: {error}"));
        let unseen = found.orphans.unseen.iter();
        let unseen = unseen.map(|reason| format!("{cluster} did not show everything: {reason}"));
        for text in error.chain(unseen) {
            output::note(text);
            exit = Exit::Failed;
        }
    }
    exit
}

/// What is known of one cluster.
#[derive(Default, Serialize)]
struct OnCluster {
    #[serde(flatten)]
    orphans: Orphans,
    /// Why it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

type Clusters = BTreeMap<ClusterId, OnCluster>;

async fn list(session: &Session, only: Option<&ClusterId>) -> anyhow::Result<Clusters> {
    let clusters = match only {
        Some(cluster) => {
            session.clusters().find(cluster).await?;
            vec![cluster.clone()]
        }
        None => {
            let All { clusters, broken } = session.clusters().list().await?;
            anyhow::ensure!(broken.is_empty(), "{}", broken.join("; "));
            clusters.into_iter().map(|one| one.cluster).collect()
        }
    };
    let found = session.clusters().orphans_on(clusters).await.into_iter();
    let known = found.map(|(cluster, found)| match found {
        Ok(orphans) => (cluster, OnCluster { orphans, error: None }),
        Err(error) => {
            let error = Some(causes::told(&error));
            (cluster, OnCluster { error, ..OnCluster::default() })
        }
    });
    Ok(known.collect())
}

async fn clear(session: &Session, of: &Of, disposal: Disposal) -> anyhow::Result<Clusters> {
    session.clusters().find(&of.cluster).await?;
    let cleared = session.clusters().clear_orphans(&of.cluster, &of.context, disposal).await;
    let orphans = cleared.with_context(|| of.cluster.to_string())?;
    Ok(Clusters::from([(of.cluster.clone(), OnCluster { orphans, error: None })]))
}

fn table(clusters: &Clusters) -> String {
    let row = |cluster: &ClusterId, orphan: &Orphan| {
        let cleared = match orphan.cleared {
            None => "-",
            Some(Cleared::Deleted) => "deleted",
            Some(Cleared::Released) => "released",
        };
        let (context, generation) = (orphan.context.to_string(), orphan.generation.to_string());
        [cluster.to_string(), context, generation, orphan.object.to_string(), cleared.to_owned()]
    };
    let of_cluster = |(cluster, found): (&ClusterId, &OnCluster)| -> Vec<_> {
        found.orphans.orphans.iter().map(|orphan| row(cluster, orphan)).collect()
    };
    let rows = clusters.iter().flat_map(of_cluster);
    output::columns(["CLUSTER", "CONTEXT", "GENERATION", "OBJECT", "CLEARED"], rows)
}
