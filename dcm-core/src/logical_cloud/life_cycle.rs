//! The life of a logical cloud: which state it is in, and what may be done in it.
//!
//! A state is never stored. It is derived from what is wanted ([`Intent`], and whether it is paused) and from how far
//! the clusters are ([`Progress`]), so the two can't contradict each other.
//!
//! Promises:
//! - There is a way out of every state: what is on clusters can be terminated and what is not can be deleted, whatever
//!   failed before, and with no cluster left too.
//! - An operation that would do nothing says so: it is [`Allowed::AlreadySo`] when what it asks for holds already (so
//!   every operation may be repeated), and else refused with the reason.
//! - Documents can be edited in every state; that touches no cluster. What an edit must not change while the cloud is
//!   on clusters is refused by [`fixed_while_applied`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::refusal::{Checks, Path, Refusals};

use super::cloud::LogicalCloud;

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

/// Something that may be done with a logical cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Bring the documents, as they are, to the clusters.
    Apply,
    /// The same, only if the cloud is on clusters.
    Update,
    /// Take it off its clusters.
    Terminate,
    /// Pause what is under way.
    Stop,
    /// Go on with what was paused.
    Resume,
    /// Remove its documents.
    Delete,
    /// Change its documents.
    Edit,
    /// Add a cluster reference.
    AddReference,
    /// Remove a cluster reference.
    RemoveReference,
}

/// How an operation is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// It begins.
    Begin,
    /// It begins and takes the place of what is under way. A dialect may refuse this.
    Replace(Work),
    /// What it asks for holds already, or is under way: nothing is to be done.
    AlreadySo,
}

/// An operation that a logical cloud's state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("can't {operation} a logical cloud that is {state}: {reason}")]
pub struct Refused {
    /// What was to be done.
    pub operation: Operation,
    /// The state.
    pub state: State,
    /// Why not.
    pub reason: Reason,
}

/// Why a state does not allow an operation, and what to do instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It was never applied.
    #[error("it was never applied and is on no cluster; apply or delete it")]
    NeverApplied,
    /// It has no cluster.
    #[error("it has no cluster reference; add one first")]
    NoClusters,
    /// It is being taken off its clusters.
    #[error("it is being terminated; wait, or stop it and apply it again")]
    BeingTerminated,
    /// It is on no cluster any more.
    #[error("it was terminated and is on no cluster; apply it again")]
    OffClusters,
    /// Nothing is under way that could be paused.
    #[error("nothing is under way")]
    NothingUnderWay,
    /// It is, or may be, on clusters.
    #[error("it is on clusters; terminate it first")]
    OnClusters,
}

impl LifeCycle {
    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        let Progress { working, failed, .. } = self.progress;
        let present = if self.updates {
            Work::Update
        } else {
            Work::Instantiate
        };
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

    /// Whether an operation may be done now.
    ///
    /// # Errors
    /// [`Refused`] with the reason.
    pub fn allows(&self, operation: Operation) -> Result<Allowed, Refused> {
        let state = self.state();
        let verdict = match operation {
            Operation::Apply => self.apply(state),
            Operation::Update => self.update(state),
            Operation::Terminate => terminate(state),
            Operation::Stop => stop(state),
            Operation::Resume => resume(state),
            Operation::Delete => delete(state),
            Operation::Edit | Operation::AddReference | Operation::RemoveReference => Ok(Allowed::Begin),
        };
        verdict.map_err(|reason| Refused {
            operation,
            state,
            reason,
        })
    }

    fn apply(&self, state: State) -> Result<Allowed, Reason> {
        match state {
            // Without a cluster, the last ones are left; that is a change, while beginning on none would do nothing.
            State::Created
            | State::Terminated
            | State::Failed(Work::Terminate)
            | State::Stopped(Work::Terminate)
                if self.references == 0 =>
            {
                Err(Reason::NoClusters)
            }
            State::Terminating => Err(Reason::BeingTerminated),
            State::Instantiated | State::Instantiating | State::Updating if !self.edited => {
                Ok(Allowed::AlreadySo)
            }
            State::Instantiating => Ok(Allowed::Replace(Work::Instantiate)),
            State::Updating => Ok(Allowed::Replace(Work::Update)),
            State::Stopped(work) => Ok(Allowed::Replace(work)),
            State::Created | State::Instantiated | State::Terminated | State::Failed(_) => Ok(Allowed::Begin),
        }
    }

    fn update(&self, state: State) -> Result<Allowed, Reason> {
        match state {
            State::Created => Err(Reason::NeverApplied),
            State::Terminated => Err(Reason::OffClusters),
            State::Terminating | State::Stopped(Work::Terminate) | State::Failed(Work::Terminate) => {
                Err(Reason::BeingTerminated)
            }
            State::Instantiating
            | State::Instantiated
            | State::Updating
            | State::Stopped(Work::Instantiate | Work::Update)
            | State::Failed(Work::Instantiate | Work::Update) => self.apply(state),
        }
    }
}

fn terminate(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created => Err(Reason::NeverApplied),
        State::Terminating | State::Terminated => Ok(Allowed::AlreadySo),
        State::Instantiated | State::Failed(_) => Ok(Allowed::Begin),
        State::Instantiating => Ok(Allowed::Replace(Work::Instantiate)),
        State::Updating => Ok(Allowed::Replace(Work::Update)),
        State::Stopped(work) => Ok(Allowed::Replace(work)),
    }
}

fn stop(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created => Err(Reason::NeverApplied),
        State::Instantiating | State::Updating | State::Terminating => Ok(Allowed::Begin),
        State::Stopped(_) => Ok(Allowed::AlreadySo),
        State::Instantiated | State::Terminated | State::Failed(_) => Err(Reason::NothingUnderWay),
    }
}

fn resume(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created => Err(Reason::NeverApplied),
        State::Stopped(_) => Ok(Allowed::Begin),
        State::Instantiating
        | State::Instantiated
        | State::Updating
        | State::Terminating
        | State::Terminated
        | State::Failed(_) => Ok(Allowed::AlreadySo),
    }
}

/// After a failed termination too: what is left on clusters is then the caller's, who has been told of it.
fn delete(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created | State::Terminated | State::Failed(Work::Terminate) => Ok(Allowed::Begin),
        State::Terminating => Err(Reason::BeingTerminated),
        State::Instantiating
        | State::Instantiated
        | State::Updating
        | State::Stopped(_)
        | State::Failed(Work::Instantiate | Work::Update) => Err(Reason::OnClusters),
    }
}

/// Checks that an edit leaves alone what can't be changed under a cloud that is on clusters: its namespace holds what
/// its users made, and an admin cloud has none.
///
/// # Errors
/// A refusal for each such field.
pub fn fixed_while_applied(applied: &LogicalCloud, edited: &LogicalCloud) -> Result<(), Refusals> {
    let at = Path::root().field("spec");
    let mut checks = Checks::default();
    match (applied.namespace(), edited.namespace()) {
        (Some(old), Some(new)) if old != new => {
            let rule = format!(
                "stays {old} while the cloud is on clusters: it holds what the users made; terminate first"
            );
            checks.refuse(&at.field("namespace"), new.as_str(), rule);
        }
        (Some(_), None) | (None, Some(_)) => {
            let rule = "can't become or leave admin while the cloud is on clusters; terminate first";
            checks.refuse(&at.field("level"), edited.level().as_str(), rule);
        }
        _ => {}
    }
    checks.finish(Some(()))
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

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "apply",
            Self::Update => "update",
            Self::Terminate => "terminate",
            Self::Stop => "stop",
            Self::Resume => "resume",
            Self::Delete => "delete",
            Self::Edit => "edit",
            Self::AddReference => "add a cluster to",
            Self::RemoveReference => "remove a cluster from",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKING: Progress = Progress {
        working: 1,
        done: 1,
        failed: 1,
    };
    const DONE: Progress = Progress {
        working: 0,
        done: 2,
        failed: 0,
    };
    const FAILED: Progress = Progress {
        working: 0,
        done: 1,
        failed: 1,
    };
    const EMPTY: Progress = Progress {
        working: 0,
        done: 0,
        failed: 0,
    };

    /// One life for each state; documents unedited, with clusters.
    fn lives() -> Vec<(State, LifeCycle)> {
        let life = |intent, paused, progress, updates| LifeCycle {
            intent,
            paused,
            progress,
            updates,
            edited: false,
            references: 2,
        };
        vec![
            (State::Created, life(Intent::None, false, EMPTY, false)),
            (State::Instantiating, life(Intent::Present, false, WORKING, false)),
            (State::Instantiated, life(Intent::Present, false, DONE, false)),
            (State::Updating, life(Intent::Present, false, WORKING, true)),
            (
                State::Stopped(Work::Instantiate),
                life(Intent::Present, true, WORKING, false),
            ),
            (
                State::Stopped(Work::Update),
                life(Intent::Present, true, WORKING, true),
            ),
            (
                State::Stopped(Work::Terminate),
                life(Intent::Absent, true, WORKING, true),
            ),
            (State::Terminating, life(Intent::Absent, false, WORKING, true)),
            (State::Terminated, life(Intent::Absent, false, DONE, true)),
            (
                State::Failed(Work::Instantiate),
                life(Intent::Present, false, FAILED, false),
            ),
            (
                State::Failed(Work::Update),
                life(Intent::Present, false, FAILED, true),
            ),
            (
                State::Failed(Work::Terminate),
                life(Intent::Absent, false, FAILED, true),
            ),
        ]
    }

    const OPERATIONS: [Operation; 6] = [
        Operation::Apply,
        Operation::Update,
        Operation::Terminate,
        Operation::Stop,
        Operation::Resume,
        Operation::Delete,
    ];

    fn cell(verdict: Result<Allowed, Refused>) -> String {
        match verdict {
            Ok(Allowed::Begin) => "begin".to_owned(),
            Ok(Allowed::Replace(_)) => "replace".to_owned(),
            Ok(Allowed::AlreadySo) => "already so".to_owned(),
            Err(refused) => format!("{:?}", refused.reason),
        }
    }

    #[rustfmt::skip]
    const TABLE: [(&str, [&str; 6]); 12] = [
        // state                       apply              update             terminate       stop               resume          delete
        ("created",                  ["begin",           "NeverApplied",    "NeverApplied", "NeverApplied",    "NeverApplied", "begin"]),
        ("instantiating",            ["already so",      "already so",      "replace",      "begin",           "already so",   "OnClusters"]),
        ("instantiated",             ["already so",      "already so",      "begin",        "NothingUnderWay", "already so",   "OnClusters"]),
        ("updating",                 ["already so",      "already so",      "replace",      "begin",           "already so",   "OnClusters"]),
        ("stopped while instantiating", ["replace",      "replace",         "replace",      "already so",      "begin",        "OnClusters"]),
        ("stopped while updating",   ["replace",         "replace",         "replace",      "already so",      "begin",        "OnClusters"]),
        ("stopped while terminating", ["replace",        "BeingTerminated", "replace",      "already so",      "begin",        "OnClusters"]),
        ("terminating",              ["BeingTerminated", "BeingTerminated", "already so",   "begin",           "already so",   "BeingTerminated"]),
        ("terminated",               ["begin",           "OffClusters",     "already so",   "NothingUnderWay", "already so",   "begin"]),
        ("failed while instantiating", ["begin",         "begin",           "begin",        "NothingUnderWay", "already so",   "OnClusters"]),
        ("failed while updating",    ["begin",           "begin",           "begin",        "NothingUnderWay", "already so",   "OnClusters"]),
        ("failed while terminating", ["begin",           "BeingTerminated", "begin",        "NothingUnderWay", "already so",   "begin"]),
    ];

    #[test]
    fn every_operation_in_every_state_is_allowed_or_refused_as_the_table_says() {
        let found: Vec<(String, Vec<String>)> = lives()
            .into_iter()
            .map(|(state, life)| {
                assert_eq!(life.state(), state);
                (
                    state.to_string(),
                    OPERATIONS
                        .iter()
                        .map(|operation| cell(life.allows(*operation)))
                        .collect(),
                )
            })
            .collect();
        let wanted: Vec<(String, Vec<String>)> = TABLE
            .iter()
            .map(|(state, cells)| {
                (
                    (*state).to_owned(),
                    cells.iter().map(ToString::to_string).collect(),
                )
            })
            .collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn documents_can_be_edited_in_every_state() {
        for (state, life) in lives() {
            for operation in [
                Operation::Edit,
                Operation::AddReference,
                Operation::RemoveReference,
            ] {
                assert_eq!(life.allows(operation), Ok(Allowed::Begin), "{state}");
            }
        }
    }

    #[test]
    fn an_edited_cloud_is_rolled_out_even_while_a_cluster_never_answers() {
        for (state, life) in lives() {
            let edited = LifeCycle { edited: true, ..life };
            let on_clusters = matches!(
                state,
                State::Instantiating | State::Instantiated | State::Updating
            );
            if on_clusters {
                assert_ne!(edited.allows(Operation::Apply), Ok(Allowed::AlreadySo), "{state}");
                assert!(edited.allows(Operation::Update).is_ok(), "{state}");
            }
        }
    }

    #[test]
    fn a_cloud_without_its_last_cluster_can_still_be_changed_and_terminated() {
        let life = LifeCycle {
            intent: Intent::Present,
            edited: true,
            updates: true,
            ..LifeCycle::default()
        };
        assert_eq!(life.state(), State::Instantiated);
        assert_eq!(life.allows(Operation::Apply), Ok(Allowed::Begin));
        assert_eq!(life.allows(Operation::Terminate), Ok(Allowed::Begin));
        let absent = LifeCycle {
            intent: Intent::Absent,
            ..life
        };
        assert_eq!(absent.state(), State::Terminated);
        assert_eq!(absent.allows(Operation::Delete), Ok(Allowed::Begin));
        let reason = absent.allows(Operation::Apply).unwrap_err().reason;
        assert_eq!(reason, Reason::NoClusters);
    }

    #[test]
    fn every_state_has_a_way_to_deletion() {
        for (state, life) in lives() {
            let mut life = life;
            for _ in 0..3 {
                if life.allows(Operation::Delete).is_ok() {
                    break;
                }
                assert!(life.allows(Operation::Terminate).is_ok(), "{state}");
                life = LifeCycle {
                    intent: Intent::Absent,
                    paused: false,
                    progress: FAILED,
                    ..life
                };
            }
            assert!(life.allows(Operation::Delete).is_ok(), "{state}");
        }
    }

    #[test]
    fn repeating_an_operation_is_allowed() {
        let after = |operation, life: LifeCycle| match operation {
            Operation::Apply | Operation::Update => LifeCycle {
                intent: Intent::Present,
                paused: false,
                progress: WORKING,
                edited: false,
                ..life
            },
            Operation::Terminate => LifeCycle {
                intent: Intent::Absent,
                paused: false,
                progress: WORKING,
                ..life
            },
            Operation::Stop => LifeCycle { paused: true, ..life },
            Operation::Resume => LifeCycle {
                paused: false,
                ..life
            },
            _ => life,
        };
        for (state, life) in lives() {
            for operation in OPERATIONS {
                if life.allows(operation).is_ok() {
                    assert!(
                        after(operation, life).allows(operation).is_ok(),
                        "{operation} twice on {state}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_refusal_says_what_state_and_what_to_do() {
        let refused = LifeCycle::default().allows(Operation::Terminate).unwrap_err();
        let text = "can't terminate a logical cloud that is created: it was never applied and is on no cluster; apply or delete it";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn clusters_are_counted_by_how_far_they_are() {
        let lanes = [
            LaneProgress::Done,
            LaneProgress::Working,
            LaneProgress::Done,
            LaneProgress::Failed,
        ];
        let progress: Progress = lanes.into_iter().collect();
        assert_eq!(
            progress,
            Progress {
                working: 1,
                done: 2,
                failed: 1
            }
        );
    }
}
