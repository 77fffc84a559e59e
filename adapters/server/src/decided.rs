//! What an engine decides by itself, in the audit log.
//!
//! Nobody asked for it, so it is kept once it was decided, from the engine's events: no log holds an engine up. What a
//! process that dies has not kept yet is missing; the status of the lane tells it all the same. A halt is kept once, as
//! long as this process sees no end of it, however often it is looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::audit::kept;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::audit::{About, Action, Decision, TEXT_MAX};
use dcm_core::port::synchronizer;
use dcm_core::status::{Cause, LaneState, Reason};
use dcm_sync::engine::{Engine, Event, What};
use futures::channel::mpsc;
use futures::stream::StreamExt as _;
use jiff::Timestamp;

use crate::audit::Logged;
use crate::deployment::Deployment;
use crate::following::{Heard, follow};

/// Who decides.
const WHO: &str = "engine";

/// Decisions that wait to be written at most: some for each of thousands of clusters, in a few megabytes.
const DECISIONS_WAITING_MAX: usize = 16_384;

impl Deployment {
    /// Keeps in the audit log what an engine decides by itself from now on: that a removal is given up at its deadline, that
    /// an object is no more brought back against somebody who changes it each time, that it takes a cluster over from a worker
    /// that gave no sign of life, and that it halts, as the store is behind, a cluster is another one, or not as it was when a
    /// change was planned. Ends when the engine has ended and all that is kept.
    pub fn keep_decisions(&self, engine: &Engine) -> impl Future<Output = ()> + Send + use<> {
        let (queue, waiting) = mpsc::channel(DECISIONS_WAITING_MAX);
        let mut reader = Reader { seen: Seen::default(), queue, lost: 0 };
        let reading = follow(engine, move |heard| reader.hear(heard));
        let deployment = self.clone();
        async move {
            let writing = deployment.keep_waiting(waiting);
            futures::join!(reading, writing);
        }
    }

    async fn keep_waiting(&self, mut waiting: mpsc::Receiver<Waiting>) {
        while let Some(decided) = waiting.next().await {
            self.keep_decided(decided).await;
        }
    }

    async fn keep_decided(&self, waiting: Waiting) {
        let Waiting { at, cluster, context, decided: Decided { action, why, detail } } = waiting;
        let cloud = match &context {
            // Where it can't be read, the app context tells it.
            Some(context) => self.clouds().of_context(context).await.ok().flatten(),
            None => None,
        };
        let (project, cloud) = cloud.unzip();
        let decision = Decision {
            at,
            who: WHO.to_owned(),
            why: why.chars().take(TEXT_MAX).collect(),
            request_id: String::new(),
            action,
            about: About { project, cloud, cluster: Some(cluster), detail, ..About::default() },
            context,
        };
        let log = Logged(self.audit().clone());
        let decided = async { Ok::<(), synchronizer::Error>(()) };
        if let Err(error) = kept(&log, &**self.clock(), decision, decided).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "a decision of the engine can't be kept in the audit log");
        }
    }
}

/// A decision that waits to be written.
struct Waiting {
    at: Timestamp,
    cluster: ClusterId,
    context: Option<ContextId>,
    decided: Decided,
}

/// Takes what is decided out of what is heard of an engine. It waits for nothing: the engine gives up who falls behind.
struct Reader {
    seen: Seen,
    queue: mpsc::Sender<Waiting>,
    /// How many decisions found the queue full since it was told last.
    lost: u64,
}

impl Reader {
    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Event(event) => {
                if let Some(decided) = self.seen.decided(&event) {
                    let Event { at, cluster, context, .. } = event;
                    self.put(Waiting { at, cluster, context, decided });
                }
            }
            Heard::Missed(count) => {
                // What ended meanwhile is not known.
                self.seen = Seen::default();
                let what =
                    "events of the engine were missed: its decisions among them are not in the audit log";
                tracing::warn!(count, "{what}");
            }
        }
    }

    fn put(&mut self, waiting: Waiting) {
        match self.queue.try_send(waiting) {
            Ok(()) => self.tell_lost(),
            Err(_) => self.lost += 1,
        }
    }

    fn tell_lost(&mut self) {
        let count = std::mem::take(&mut self.lost);
        if count > 0 {
            tracing::warn!(count, "decisions of the engine are not in the audit log: too many were waiting");
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.tell_lost();
    }
}

/// A decision of an engine.
#[derive(Debug, PartialEq, Eq)]
struct Decided {
    action: Action,
    why: String,
    detail: String,
}

/// A lane, or with no app context a cluster as a whole.
type Place = (ClusterId, Option<ContextId>);

/// What was seen before of places that something is in the way of.
#[derive(Debug, Default)]
struct Seen {
    hindered: BTreeMap<Place, Arc<str>>,
    /// What it halts for, by reason and in words: another halt is another decision.
    halted: BTreeMap<Place, BTreeSet<(Reason, Arc<str>)>>,
}

impl Seen {
    /// What an event says that the engine has decided.
    fn decided(&mut self, event: &Event) -> Option<Decided> {
        let place = (event.cluster.clone(), event.context.clone());
        if matches!(event.what, What::Lane(_) | What::Connected) {
            self.halted.remove(&place);
        }
        match &event.what {
            What::Hindered(cause) => self.hindered(place, cause),
            What::Lane(LaneState::Abandoned) => {
                let cause = self.hindered.remove(&place).map(|cause| format!(": {cause}"));
                let why = format!("it was not taken off by its deadline{}", cause.unwrap_or_default());
                Some(Decided { action: Action::Abandon, why, detail: String::new() })
            }
            What::Drifted(Cause { message, object: Some(object), next_try: Some(until), .. }) => {
                let (why, detail) = (format!("{message}; until {until}"), object.to_string());
                Some(Decided { action: Action::GiveUpContest, why, detail })
            }
            What::TakenOver => {
                let why = "its worker gave no sign of life for the length of its lease".to_owned();
                Some(Decided { action: Action::TakeOver, why, detail: String::new() })
            }
            What::Lane(LaneState::Done | LaneState::Removed) | What::Connected => {
                self.hindered.remove(&place);
                None
            }
            What::Lost => {
                self.hindered.retain(|(cluster, _), _| *cluster != event.cluster);
                self.halted.retain(|(cluster, _), _| *cluster != event.cluster);
                None
            }
            _ => None,
        }
    }

    /// A cluster that is another one is told for all its lanes at once.
    fn hindered(&mut self, place: Place, cause: &Cause) -> Option<Decided> {
        let is_halt = match cause.reason {
            Reason::StoreBehind | Reason::PlanStale => true,
            Reason::ClusterChanged => place.1.is_none(),
            _ => false,
        };
        self.hindered.insert(place.clone(), cause.message.clone());
        let halt = (cause.reason, cause.message.clone());
        let is_new = is_halt && self.halted.entry(place).or_default().insert(halt);
        let halt = || Decided { action: Action::Halt, why: cause.message.to_string(), detail: String::new() };
        is_new.then(halt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(seen: &mut Seen, what: What) -> Option<Action> {
        let cluster = "p/c".parse().unwrap();
        let event = Event { sequence: 1, at: Timestamp::UNIX_EPOCH, cluster, context: None, what };
        seen.decided(&event).map(|decided| decided.action)
    }

    #[test]
    fn a_take_over_is_a_decision_and_taking_what_was_free_is_none() {
        let mut seen = Seen::default();
        assert_eq!(decided(&mut seen, What::Acquired), None);
        assert_eq!(decided(&mut seen, What::TakenOver), Some(Action::TakeOver));
    }

    fn halt(reason: Reason, message: &str) -> What {
        What::Hindered(Cause { reason, message: message.into(), object: None, next_try: None })
    }

    fn stale() -> What {
        halt(Reason::PlanStale, "it is not as it was")
    }

    #[test]
    fn a_halt_is_one_decision_until_the_lane_is_in_another_state() {
        for state in LaneState::ALL.into_iter().filter(|state| *state != LaneState::Abandoned) {
            let mut seen = Seen::default();
            assert_eq!(decided(&mut seen, stale()), Some(Action::Halt));
            assert_eq!(decided(&mut seen, stale()), None);
            assert_eq!(decided(&mut seen, What::Lane(state)), None);
            assert_eq!(decided(&mut seen, stale()), Some(Action::Halt), "{state:?}");
        }
    }

    #[test]
    fn a_halt_for_another_reason_or_in_other_words_is_another_decision() {
        let mut seen = Seen::default();
        let behind =
            |generation: u8| halt(Reason::StoreBehind, &format!("generation {generation} was there"));
        assert_eq!(decided(&mut seen, stale()), Some(Action::Halt));
        for generation in [2, 3] {
            assert_eq!(decided(&mut seen, behind(generation)), Some(Action::Halt));
        }
        for again in [stale(), behind(2), behind(3)] {
            assert_eq!(decided(&mut seen, again), None);
        }
    }

    #[test]
    fn a_halt_after_events_that_were_missed_is_kept_as_it_may_be_another_one() {
        let (queue, mut waiting) = mpsc::channel(4);
        let mut reader = Reader { seen: Seen::default(), queue, lost: 0 };
        let cluster: ClusterId = "p/c".parse().unwrap();
        let stale = |sequence| {
            let cluster = cluster.clone();
            Heard::Event(Event { sequence, at: Timestamp::UNIX_EPOCH, cluster, context: None, what: stale() })
        };
        for heard in [stale(1), stale(2), Heard::Missed(7), stale(10)] {
            reader.hear(heard);
        }
        let kept = std::iter::from_fn(|| waiting.try_recv().ok()).count();
        assert_eq!(kept, 2);
    }
}
