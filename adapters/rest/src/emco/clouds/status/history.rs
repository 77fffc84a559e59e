//! What was decided about a logical cloud, as EMCO tells it.

use dcm_core::logical_cloud::LogicalCloudUid;
use dcm_core::logical_cloud::life_cycle::Work;
use dcm_core::service::{Change, CloudStatus, Milestone};
use serde::Serialize;

/// Spreads the numbers of decisions over all instances: the golden ratio, in 64 bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The decisions, and the instance that the status speaks of.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct States {
    #[serde(rename = "statusctxid")]
    instance: String,
    actions: Vec<Action>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Action {
    state: &'static str,
    instance: String,
    time: String,
    revision: u64,
}

impl States {
    pub(super) fn of(status: &CloudStatus) -> Self {
        Self::from_history(status.uid, &status.created, &status.history)
    }

    fn from_history(uid: LogicalCloudUid, created: &Change, history: &[Milestone]) -> Self {
        let first = Action { state: "Created", instance: String::new(), time: time(created), revision: 0 };
        let (mut actions, mut instance) = (vec![first], String::new());
        for milestone in history {
            let Milestone { number, work, paused, change } = milestone;
            if (*work != Work::Terminate && !paused) || instance.is_empty() {
                instance = instance_of(uid, *number);
            }
            let state = state(*work, *paused);
            actions.push(Action { state, instance: instance.clone(), time: time(change), revision: *number });
        }
        Self { instance, actions }
    }

    /// True for what the status speaks of.
    pub(super) fn is_latest(&self, instance: &str) -> bool {
        self.instance == instance
    }
}

fn state(work: Work, paused: bool) -> &'static str {
    match (work, paused) {
        (Work::Instantiate, false) => "Instantiated",
        (Work::Update, false) => "Updated",
        (Work::Terminate, false) => "Terminated",
        (Work::Terminate, true) => "TerminateStopped",
        (Work::Instantiate | Work::Update, true) => "InstantiateStopped",
    }
}

/// A positive number of 63 bits, as EMCO's instances are.
fn instance_of(uid: LogicalCloudUid, number: u64) -> String {
    let uid = u64::from_str_radix(&uid.to_string(), 16).unwrap_or_default();
    (uid.wrapping_add(number.wrapping_mul(SPREAD)) >> 1).to_string()
}

fn time(change: &Change) -> String {
    change.at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(at: &str) -> Change {
        serde_json::from_value(json!({"by": "ann", "at": at})).unwrap()
    }

    #[test]
    fn each_decision_is_an_action_and_each_beginning_an_instance() {
        let decided = [
            (Work::Instantiate, false),
            (Work::Update, false),
            (Work::Update, true),
            (Work::Terminate, false),
            (Work::Terminate, true),
        ];
        let milestones: Vec<Milestone> = (1..)
            .zip(decided)
            .map(|(number, (work, paused))| {
                serde_json::from_value(
                    json!({"number": number, "work": work, "paused": paused, "change": change("2026-01-02T03:04:05.6789Z")}),
                )
                .unwrap()
            })
            .collect();
        let uid = LogicalCloudUid::from_random(u64::MAX);
        let states = States::from_history(uid, &change("2026-01-01T00:00:00Z"), &milestones);
        let told: Vec<_> = states.actions.iter().map(|one| (one.state, one.revision)).collect();
        let expected =
            ["Created", "Instantiated", "Updated", "InstantiateStopped", "Terminated", "TerminateStopped"];
        assert_eq!(told, expected.into_iter().zip(0..).collect::<Vec<_>>());
        assert_eq!(states.actions[0].time, "2026-01-01T00:00:00.000Z");
        assert_eq!(states.actions[1].time, "2026-01-02T03:04:05.678Z");
        let instances: Vec<&str> = states.actions.iter().map(|one| &*one.instance).collect();
        assert_eq!(instances[0], "");
        assert_ne!(instances[1], instances[2]);
        assert!(instances[2..].iter().all(|instance| *instance == instances[2]));
        assert!(instances[1].parse::<i64>().is_ok_and(|instance| instance > 0));
        assert!(states.is_latest(instances[2]) && !states.is_latest(instances[1]));
    }
}
