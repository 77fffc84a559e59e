//! Tests of the life cycle.

use super::*;

const WORKING: Progress = Progress { working: 1, done: 1, failed: 1 };
const DONE: Progress = Progress { working: 0, done: 2, failed: 0 };
const FAILED: Progress = Progress { working: 0, done: 1, failed: 1 };
const EMPTY: Progress = Progress { working: 0, done: 0, failed: 0 };

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
        (State::Stopped(Work::Instantiate), life(Intent::Present, true, WORKING, false)),
        (State::Stopped(Work::Update), life(Intent::Present, true, WORKING, true)),
        (State::Stopped(Work::Terminate), life(Intent::Absent, true, WORKING, true)),
        (State::Terminating, life(Intent::Absent, false, WORKING, true)),
        (State::Terminated, life(Intent::Absent, false, DONE, true)),
        (State::Failed(Work::Instantiate), life(Intent::Present, false, FAILED, false)),
        (State::Failed(Work::Update), life(Intent::Present, false, FAILED, true)),
        (State::Failed(Work::Terminate), life(Intent::Absent, false, FAILED, true)),
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
    ("failed while terminating", ["begin",           "BeingTerminated", "begin",        "NothingUnderWay", "already so",   "LeftOnClusters"]),
];

#[test]
fn every_operation_in_every_state_is_allowed_or_refused_as_the_table_says() {
    let found: Vec<(String, Vec<String>)> = lives()
        .into_iter()
        .map(|(state, life)| {
            assert_eq!(life.state(), state);
            (state.to_string(), OPERATIONS.iter().map(|operation| cell(life.allows(*operation))).collect())
        })
        .collect();
    let wanted: Vec<(String, Vec<String>)> = TABLE
        .iter()
        .map(|(state, cells)| ((*state).to_owned(), cells.iter().map(ToString::to_string).collect()))
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn documents_can_be_edited_in_every_state() {
    for (state, life) in lives() {
        for operation in [Operation::Edit, Operation::AddReference, Operation::RemoveReference] {
            assert_eq!(life.allows(operation), Ok(Allowed::Begin), "{state}");
        }
    }
}

#[test]
fn an_edited_cloud_is_rolled_out_even_while_a_cluster_never_answers() {
    for (state, life) in lives() {
        let edited = LifeCycle { edited: true, ..life };
        let on_clusters = matches!(state, State::Instantiating | State::Instantiated | State::Updating);
        if on_clusters {
            assert_ne!(edited.allows(Operation::Apply), Ok(Allowed::AlreadySo), "{state}");
            assert!(edited.allows(Operation::Update).is_ok(), "{state}");
        }
    }
}

#[test]
fn a_cloud_without_its_last_cluster_can_still_be_changed_and_terminated() {
    let life = LifeCycle { intent: Intent::Present, edited: true, updates: true, ..LifeCycle::default() };
    assert_eq!(life.state(), State::Instantiated);
    assert_eq!(life.allows(Operation::Apply), Ok(Allowed::Begin));
    assert_eq!(life.allows(Operation::Terminate), Ok(Allowed::Begin));
    let absent = LifeCycle { intent: Intent::Absent, ..life };
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
            life = LifeCycle { intent: Intent::Absent, paused: false, progress: DONE, ..life };
        }
        assert!(life.allows(Operation::Delete).is_ok(), "{state}");
    }
}

#[test]
fn repeating_an_operation_is_allowed() {
    let after = |operation, life: LifeCycle| match operation {
        Operation::Apply | Operation::Update => {
            LifeCycle { intent: Intent::Present, paused: false, progress: WORKING, edited: false, ..life }
        }
        Operation::Terminate => {
            LifeCycle { intent: Intent::Absent, paused: false, progress: WORKING, ..life }
        }
        Operation::Stop => LifeCycle { paused: true, ..life },
        Operation::Resume => LifeCycle { paused: false, ..life },
        _ => life,
    };
    for (state, life) in lives() {
        for operation in OPERATIONS {
            if life.allows(operation).is_ok() {
                assert!(after(operation, life).allows(operation).is_ok(), "{operation} twice on {state}");
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
    let lanes = [LaneProgress::Done, LaneProgress::Working, LaneProgress::Done, LaneProgress::Failed];
    let progress: Progress = lanes.into_iter().collect();
    assert_eq!(progress, Progress { working: 1, done: 2, failed: 1 });
}
