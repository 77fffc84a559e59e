//! Which state a logical cloud is in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is wanted of a logical cloud.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// Nothing yet: it was never applied.
    #[default]
    None,
    /// To be on its clusters.
    Present,
    /// To be on no cluster.
    Absent,
}

/// How far one cluster is with what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneProgress {
    /// At work, waiting or trying again.
    Working,
    /// As wanted. A cluster that was given up during removal counts so too.
    Done,
    /// Nothing more happens by itself.
    Failed,
}

/// How far all clusters are with what is wanted, those that no lane knows yet included (as working).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Clusters at work, waiting or trying again.
    pub working: usize,
    /// Clusters that are as wanted.
    pub done: usize,
    /// Clusters at which nothing more happens by itself.
    pub failed: usize,
}

impl FromIterator<LaneProgress> for Progress {
    fn from_iter<I: IntoIterator<Item = LaneProgress>>(lanes: I) -> Self {
        lanes.into_iter().fold(Self::default(), |mut progress, lane| {
            match lane {
                LaneProgress::Working => progress.working += 1,
                LaneProgress::Done => progress.done += 1,
                LaneProgress::Failed => progress.failed += 1,
            }
            progress
        })
    }
}

/// What a cloud's clusters are or were brought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// The first snapshot.
    Instantiate,
    /// A later snapshot.
    Update,
    /// Nothing of the cloud.
    Terminate,
}

/// The state of a logical cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LogicalCloudState"))]
#[serde(rename_all = "kebab-case", tag = "state", content = "work")]
pub enum State {
    /// Never applied; on no cluster.
    Created,
    /// Its first snapshot is brought to its clusters.
    Instantiating,
    /// Its clusters are as the last snapshot says. With no cluster left, this holds too.
    Instantiated,
    /// A later snapshot is brought to its clusters.
    Updating,
    /// Paused: nothing is done on its clusters until it is resumed.
    Stopped(Work),
    /// It is taken off its clusters.
    Terminating,
    /// On no cluster; may be applied again or deleted.
    Terminated,
    /// Some clusters failed, and the others are done.
    Failed(Work),
}

/// What is known of a logical cloud's life; [`LifeCycle::state`] derives its state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LifeCycle {
    /// What is wanted.
    pub intent: Intent,
    /// True while nothing is to be done on its clusters.
    pub paused: bool,
    /// How far its clusters are.
    pub progress: Progress,
    /// True when an earlier snapshot was applied and not terminated since.
    pub updates: bool,
    /// True when its documents differ from the last snapshot.
    pub edited: bool,
    /// How many clusters its documents refer to.
    pub references: usize,
}

impl LifeCycle {
    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        let Progress { working, failed, .. } = self.progress;
        let present = if self.updates { Work::Update } else { Work::Instantiate };
        match (self.intent, self.paused) {
            (Intent::None, _) => State::Created,
            (Intent::Present, true) => State::Stopped(present),
            (Intent::Present, false) if working > 0 && self.updates => State::Updating,
            (Intent::Present, false) if working > 0 => State::Instantiating,
            (Intent::Present, false) if failed > 0 => State::Failed(present),
            (Intent::Present, false) => State::Instantiated,
            (Intent::Absent, _) if working == 0 && failed == 0 => State::Terminated,
            (Intent::Absent, true) => State::Stopped(Work::Terminate),
            (Intent::Absent, false) if working > 0 => State::Terminating,
            (Intent::Absent, false) => State::Failed(Work::Terminate),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => f.write_str("created"),
            Self::Instantiating => f.write_str("instantiating"),
            Self::Instantiated => f.write_str("instantiated"),
            Self::Updating => f.write_str("updating"),
            Self::Stopped(work) => write!(f, "stopped while {work}"),
            Self::Terminating => f.write_str("terminating"),
            Self::Terminated => f.write_str("terminated"),
            Self::Failed(work) => write!(f, "failed while {work}"),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instantiate => "instantiating",
            Self::Update => "updating",
            Self::Terminate => "terminating",
        })
    }
}
