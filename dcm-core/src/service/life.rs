//! The life cycle of a logical cloud, from its root and what the synchronizer says of its app context.
//!
//! What is wanted on clusters, and whether it is paused, only the synchronizer knows: kept a second time here, the two
//! could contradict each other after a crash.

use crate::logical_cloud::life_cycle::{Intent, LaneProgress, LifeCycle, Progress, State};
use crate::name::{LogicalCloudName, ProjectName};
use crate::status::{self, ContextStatus, LaneState, LaneStatus};

use super::documents::Root;
use super::error::Error;
use super::load;
use super::logical_clouds::LogicalClouds;
use super::path::Place;

/// What is known of a cloud's life. `edited` tells whether an apply would change something, `references` to how many
/// clusters it would bring the cloud.
pub(super) fn of(root: &Root, context: Option<&ContextStatus>, edited: bool, references: usize) -> LifeCycle {
    let paused = context.is_some_and(|context| context.paused);
    let updates = match (&root.applying, &root.applied) {
        (Some(_), applied) => applied.is_some(),
        (None, applied) => applied.as_ref().is_some_and(|applied| applied.updates),
    };
    let (intent, progress) = match context {
        // An apply that is under way, or was cut off: whether the engine has it can't be told.
        _ if root.applying.is_some() => (Intent::Present, only_working(references)),
        None => (Intent::None, Progress::default()),
        Some(context) => (intent(context), progress(context)),
    };
    LifeCycle { intent, paused, progress, updates, edited, references }
}

impl LogicalClouds {
    /// Which state a logical cloud is in; reads no more than that needs.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the store and the synchronizer.
    pub async fn state(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<State, Error> {
        Ok(self.life_cycle(project, cloud).await?.state())
    }

    /// How far a logical cloud is on how many clusters; reads no more than its state needs. Edits that were not applied are not
    /// looked for.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the store and the synchronizer.
    pub async fn life_cycle(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<LifeCycle, Error> {
        let (place, root, _) = load::standing(&*self.documents, project, cloud).await?;
        self.life(&place, &root, false, root.references).await
    }

    /// What is known of a cloud's life, with what the synchronizer says now.
    pub(super) async fn life(
        &self,
        place: &Place,
        root: &Root,
        edited: bool,
        references: usize,
    ) -> Result<LifeCycle, Error> {
        let status = self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?;
        Ok(of(root, status.as_ref(), edited, references))
    }
}

fn intent(context: &ContextStatus) -> Intent {
    match context.intent {
        status::Intent::Present => Intent::Present,
        status::Intent::Absent => Intent::Absent,
    }
}

fn only_working(clusters: usize) -> Progress {
    Progress { working: clusters.max(1), ..Progress::default() }
}

fn progress(context: &ContextStatus) -> Progress {
    let progress: Progress = context.lanes.values().map(|lane| of_lane(lane, context.intent)).collect();
    let open = progress.working + progress.failed;
    match context.progress {
        status::Progress::Done => Progress { done: progress.done + open, ..Progress::default() },
        status::Progress::Stuck => Progress { working: 0, done: progress.done, failed: open.max(1) },
        // The causes of lanes may be older than a new try that was asked for.
        status::Progress::Working if progress.working == 0 => {
            Progress { working: open.max(1), done: progress.done, failed: 0 }
        }
        status::Progress::Working => progress,
    }
}

fn of_lane(lane: &LaneStatus, intent: status::Intent) -> LaneProgress {
    let finished = match intent {
        status::Intent::Present => lane.state == LaneState::Done,
        status::Intent::Absent => matches!(lane.state, LaneState::Removed | LaneState::Abandoned),
    };
    if finished {
        LaneProgress::Done
    } else if lane.cause.as_ref().is_some_and(|cause| cause.reason.needs_somebody()) {
        LaneProgress::Failed
    } else {
        LaneProgress::Working
    }
}
