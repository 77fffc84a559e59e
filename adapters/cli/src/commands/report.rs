//! What is said when work was accepted: at once, or when it is done.

use dcm_core::logical_cloud::life_cycle::State;
use dcm_core::name::{ClusterId, LogicalCloudName};
use dcm_core::service::{CloudStatus, ClusterInCloud};
use dcm_core::status::{LaneState, ObjectState};

use crate::arguments::Waiting;
use crate::exit::Exit;
use crate::lane_tree::{Detail, cause_text};
use crate::output;
use crate::session::Session;
use crate::status_tree;
use crate::work::{self, End, Next, Worked};

/// Waits as the command line says, prints the clouds, and says how it ended.
pub(crate) async fn wait(session: &Session, worked: &[Worked], waiting: &Waiting) -> anyhow::Result<Exit> {
    let end = wait_until_end(session, worked, waiting).await?;
    let statuses = statuses(session, worked).await?;
    print(session, &statuses)?;
    say_end(session, end, &statuses, waiting).await
}

/// The same for one cloud of the session's project.
pub(super) async fn wait_for(
    session: &Session,
    cloud: &LogicalCloudName,
    waiting: &Waiting,
) -> anyhow::Result<Exit> {
    let worked = session.worked(cloud).await?;
    wait(session, &[worked], waiting).await
}

/// Waits as the command line says; none where it is not to wait.
pub(super) async fn wait_until_end(
    session: &Session,
    worked: &[Worked],
    waiting: &Waiting,
) -> anyhow::Result<Option<End>> {
    if !waiting.no_wait {
        return work::bring_about(session, worked, waiting.timeout).await.map(Some);
    }
    if work::next(session).await? == Next::Nobody {
        output::note("no worker serves this store: nothing will happen until one runs (dcm serve)");
    }
    Ok(None)
}

/// Says beside the result how the waiting ended, and what is open.
pub(super) async fn say_end(
    session: &Session,
    end: Option<End>,
    statuses: &[CloudStatus],
    waiting: &Waiting,
) -> anyhow::Result<Exit> {
    let Some(end) = end else { return Ok(Exit::Done) };
    statuses.iter().for_each(|status| note_kept(session, status));
    if end != End::Done {
        statuses.iter().for_each(|status| note_open(session, status));
    }
    Ok(match end {
        End::Done if statuses.iter().any(note_abandoned) => Exit::Abandoned,
        End::Done => Exit::Done,
        End::Stuck => {
            output::note("stuck: action required");
            Exit::Stuck
        }
        End::Stopped => {
            statuses.iter().for_each(note_stopped);
            Exit::Stuck
        }
        End::TimedOut => {
            let next = next_worker(session).await?;
            output::note(format_args!("work is left after {:?}: {next}", waiting.timeout));
            Exit::TimedOut
        }
        End::Interrupted => {
            output::note(format_args!("interrupted: {}", next_worker(session).await?));
            Exit::Interrupted
        }
    })
}

/// Who goes on with work that is left.
pub(super) async fn next_worker(session: &Session) -> anyhow::Result<&'static str> {
    Ok(match work::next(session).await? {
        Next::Worker => "the worker of this store goes on with it",
        Next::Nobody => "it goes on when a worker runs (dcm serve), or when the command is given again",
        Next::Theirs => "a worker of the server's store goes on with it",
    })
}

async fn statuses(session: &Session, worked: &[Worked]) -> anyhow::Result<Vec<CloudStatus>> {
    let clouds = session.clouds();
    let mut statuses = Vec::with_capacity(worked.len());
    for one in worked {
        statuses.push(clouds.status(&one.project, &one.cloud).await?);
    }
    Ok(statuses)
}

fn print(session: &Session, statuses: &[CloudStatus]) -> anyhow::Result<()> {
    output::print_either(session.format, &statuses, || {
        let row = |status: &CloudStatus| {
            let (done, all) = counted(status);
            [
                status.project.to_string(),
                status.name.to_string(),
                status.state.to_string(),
                format!("{done}/{all}"),
            ]
        };
        output::columns(["PROJECT", "LOGICAL CLOUD", "STATE", "CLUSTERS DONE"], statuses.iter().map(row))
    })
}

/// Clusters that are where they are to be, of all.
pub(crate) fn counted(status: &CloudStatus) -> (usize, usize) {
    let at_end = |state| matches!(state, LaneState::Done | LaneState::Removed);
    let lanes = status.clusters.values().filter_map(|cluster| cluster.lane.as_ref());
    (lanes.filter(|lane| at_end(lane.state)).count(), status.clusters.len())
}

/// Says which objects were kept, and why.
fn note_kept(session: &Session, status: &CloudStatus) {
    for (id, cluster) in &status.clusters {
        let objects = cluster.lane.iter().flat_map(|lane| &lane.objects);
        for object in objects.filter(|object| object.state == ObjectState::Kept) {
            let cause = object.cause.as_ref().map(|cause| cause_text(cause, session.now()));
            output::note(format_args!("{id}: {} {}", object.key, cause.unwrap_or_default()));
        }
    }
}

/// Says which clusters were given up while the cloud was taken off; true when there are such. Of a cloud that is wanted
/// on others that is no end: its status tells it.
fn note_abandoned(status: &CloudStatus) -> bool {
    let is_abandoned = |(_, cluster): &(&ClusterId, &ClusterInCloud)| {
        cluster.lane.as_ref().is_some_and(|lane| lane.state == LaneState::Abandoned)
    };
    let abandoned = status.clusters.iter().filter(is_abandoned).map(|(id, _)| id.to_string());
    let abandoned: Vec<String> = abandoned.collect();
    if !abandoned.is_empty() {
        output::note(format_args!(
            "{}: abandoned at the deadline: {}; a worker (dcm serve), or the same command again, cleans them up when they \
             return",
            status.name,
            abandoned.join(", "),
        ));
    }
    status.state == State::Terminated && !abandoned.is_empty()
}

/// Says who paused the work on a cloud, and how it goes on.
fn note_stopped(status: &CloudStatus) {
    let CloudStatus { project, name, stopped: Some(stopped), .. } = status else { return };
    output::note(format_args!(
        "stopped by {}: dcm resume {name} --project {project} goes on with it",
        stopped.by
    ));
}

/// Says where a cloud is that is not where it is to be.
fn note_open(session: &Session, status: &CloudStatus) {
    let (done, all) = counted(status);
    if done < all {
        output::note(status_tree::draw(status, Detail::Grouped, session.now()).trim_end());
    }
}
