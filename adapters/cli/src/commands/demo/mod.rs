//! `dcm demo`: the whole way of a logical cloud on simulated clusters, in this process alone.
//!
//! What it prints was counted on the simulated API servers, not taken from what the engine says of itself.

mod proof;
mod world;

use std::time::Duration;

use dcm_core::document::{self, Limits};
use dcm_core::name::ProjectName;
use dcm_core::port::synchronizer::Removal;
use dcm_core::service::CloudStatus;
use dcm_core::status::LaneState;

use super::apply;
use super::documents::Sourced;
use crate::exit::Exit;
use crate::lane_tree::Detail;
use crate::output;
use crate::session::Session;
use crate::status_tree;
use crate::work::{self, Worked};
use world::World;

/// The checked-in example, beside which nothing is made up.
const DOCUMENT: &str = include_str!("../../../documents/payments.yaml");

/// What the example is called.
const SOURCE: &str = "payments.yaml";

/// Longer than a thousand simulated clusters take on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Clusters that are shown in full; the others are alike.
const CLUSTERS_SHOWN_MAX: usize = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of simulated clusters.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000), value_name = "N")]
    clusters: u16,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figures {
    clusters: usize,
    instantiated: usize,
    terminated: usize,
    left: usize,
    proved: bool,
}

impl Figures {
    fn line(self) -> String {
        let Self { clusters, instantiated, terminated, left, .. } = self;
        format!(
            "demo: {instantiated}/{clusters} clusters instantiated, {terminated}/{clusters} terminated, {left} objects left\n"
        )
    }

    fn exit(self) -> Exit {
        let all = self.instantiated == self.clusters && self.terminated == self.clusters;
        if all && self.left == 0 && self.proved { Exit::Done } else { Exit::Failed }
    }
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let figures = tokio::select! {
        biased;
        // Before all else: what plays would take an interrupt for the end of one of its waits, and play on.
        interrupted = work::interrupted() => return interrupted.map(|()| Exit::Interrupted),
        played = play(usize::from(arguments.clusters)) => played?,
    };
    output::print(&figures.line())?;
    Ok(figures.exit())
}

/// Plays it all, and counts.
async fn play(clusters: usize) -> anyhow::Result<Figures> {
    let default = ProjectName::new("default")?;
    let mut documents = document::parse(DOCUMENT.as_bytes(), &default, &Limits::default())?;
    // With fewer clusters than the document names, it names fewer.
    documents.iter_mut().for_each(|document| document.draft.spec.clusters.truncate(clusters));
    let world = World::build(&documents, clusters).await?;
    let session = &world.session;
    output::print(&format!(
        "{clusters} simulated clusters in this process; nothing outside it is touched\n\n\
         apply: the example document {SOURCE}\n"
    ))?;
    let sourced = |document| Sourced { source: SOURCE.to_owned(), document };
    let worked = apply::hand_over(session, documents.into_iter().map(sourced).collect()).await?;
    work::bring_about(session, &worked, TIMEOUT).await?;
    let mut instantiated = 0;
    let mut proved = true;
    for one in &worked {
        let status = session.here()?.clouds().status(&one.project, &one.cloud).await?;
        instantiated += count_instantiated(&world, &status);
        show_status(session, &status)?;
        proved &= proof::show(&world, &status).await?;
    }
    terminate(session, &worked).await?;
    let left = world.ids().map(|id| world.owned(id)).collect::<Vec<_>>();
    Ok(Figures {
        clusters,
        instantiated,
        terminated: left.iter().filter(|owned| **owned == 0).count(),
        left: left.iter().sum(),
        proved,
    })
}

/// Clusters whose API servers hold all that the engine says is there, and at least a namespace.
fn count_instantiated(world: &World, status: &CloudStatus) -> usize {
    let holds_all = |(id, cluster): &(&_, &dcm_core::service::ClusterInCloud)| {
        cluster.lane.as_ref().is_some_and(|lane| {
            lane.state == LaneState::Done && !lane.objects.is_empty() && world.owned(id) >= lane.objects.len()
        })
    };
    status.clusters.iter().filter(holds_all).count()
}

fn show_status(session: &Session, status: &CloudStatus) -> anyhow::Result<()> {
    let mut shown = status.clone();
    shown.clusters = status.clusters.clone().into_iter().take(CLUSTERS_SHOWN_MAX).collect();
    let tree = status_tree::draw(&shown, Detail::Grouped, session.now());
    output::print(&format!("\nstatus\n{tree}"))?;
    let others = status.clusters.len() - shown.clusters.len();
    if others > 0 {
        output::print(&format!("({others} more clusters alike)\n"))?;
    }
    Ok(())
}

async fn terminate(session: &Session, worked: &[Worked]) -> anyhow::Result<()> {
    output::print("\nterminate\n")?;
    for Worked { project, cloud, .. } in worked {
        let clouds = session.here()?.clouds();
        clouds.terminate(&session.caller, project, cloud, Removal::default()).await?;
    }
    work::bring_about(session, worked, TIMEOUT).await?;
    for Worked { project, cloud, .. } in worked {
        let status = session.here()?.clouds().status(project, cloud).await?;
        output::print(&format!("{cloud}: {}\n\n", status.state))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_all_is_a_failure() {
        let all = Figures { clusters: 3, instantiated: 3, terminated: 3, left: 0, proved: true };
        assert_eq!(all.line(), "demo: 3/3 clusters instantiated, 3/3 terminated, 0 objects left\n");
        assert_eq!(all.exit(), Exit::Done);
        for one in [
            Figures { instantiated: 2, ..all },
            Figures { terminated: 2, ..all },
            Figures { left: 1, ..all },
            Figures { proved: false, ..all },
        ] {
            assert_eq!(one.exit(), Exit::Failed, "{one:?}");
        }
    }
}
