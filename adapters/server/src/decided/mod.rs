//! What an engine decides by itself, in the audit log.
//!
//! Nobody asked for it, so it is kept once it was decided, from the engine's events: no log holds an engine up. What a
//! process that dies has not kept yet is missing; the status of the lane tells it all the same. A halt is kept once, as
//! long as this process sees no end of it, however often it is looked at again. Clusters that are taken over at about the same
//! time, as those of one worker, are one entry.

mod seen;

use std::collections::BTreeSet;
use std::time::Duration;

use dcm_core::audit::kept;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::audit::{About, Action, Decision, TEXT_MAX};
use dcm_core::port::synchronizer;
use dcm_sync::engine::{Engine, Event};
use futures::channel::mpsc;
use futures::stream::StreamExt as _;
use jiff::Timestamp;

use crate::audit::Logged;
use crate::deployment::Deployment;
use crate::following::{Heard, follow};
use seen::{Decided, Seen};

/// Who decides.
const WHO: &str = "engine";

/// Decisions that wait to be written at most: some for each of thousands of clusters, in a few megabytes.
const DECISIONS_WAITING_MAX: usize = 16_384;

/// For how long clusters that are taken over go into one entry: a worker that dies leaves all of its own in one moment.
const TAKE_OVERS_TOGETHER: Duration = Duration::from_secs(5);

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
        while let Some(one) = waiting.next().await {
            match one.decided.action {
                Action::TakeOver => self.keep_take_overs(one, &mut waiting).await,
                _ => self.keep_decided(one).await,
            }
        }
    }

    /// Keeps a take-over, with all that follow it soon.
    async fn keep_take_overs(&self, first: Waiting, waiting: &mut mpsc::Receiver<Waiting>) {
        let mut clusters = BTreeSet::from_iter(first.cluster.clone());
        let mut soon = waiting.take_until(self.clock().sleep(TAKE_OVERS_TOGETHER));
        while let Some(one) = soon.next().await {
            match one.decided.action {
                Action::TakeOver => clusters.extend(one.cluster),
                _ => self.keep_decided(one).await,
            }
        }
        self.keep_decided(first.of_all(&clusters)).await;
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
            why: kept_of(&why),
            request_id: String::new(),
            action,
            about: About { project, cloud, cluster, detail: kept_of(&detail), ..About::default() },
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
    /// None when it is about several.
    cluster: Option<ClusterId>,
    context: Option<ContextId>,
    decided: Decided,
}

impl Waiting {
    /// The same decision about all of these clusters.
    fn of_all(self, clusters: &BTreeSet<ClusterId>) -> Self {
        if clusters.len() == 1 {
            return self;
        }
        let names: Vec<String> = clusters.iter().map(ToString::to_string).collect();
        let detail = format!("{} clusters: {}", names.len(), names.join(", "));
        Self { cluster: None, decided: Decided { detail, ..self.decided }, ..self }
    }
}

/// As much of a text as is kept.
fn kept_of(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
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
                    self.put(Waiting { at, cluster: Some(cluster), context, decided });
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use dcm_core::status::{Cause, Reason};
    use dcm_sync::engine::What;
    use tracing_subscriber::fmt::MakeWriter as _;
    use tracing_subscriber::util::SubscriberInitExt as _;

    use super::*;

    fn heard(sequence: u64, what: What) -> Heard {
        let cluster = "p/c".parse().unwrap();
        Heard::Event(Event { sequence, at: Timestamp::UNIX_EPOCH, cluster, context: None, what })
    }

    /// A reader, and a queue that has room for so many decisions.
    fn reader(room: usize) -> (Reader, mpsc::Receiver<Waiting>) {
        // Each sender has a place of its own.
        let (queue, waiting) = mpsc::channel(room - 1);
        (Reader { seen: Seen::default(), queue, lost: 0 }, waiting)
    }

    #[test]
    fn a_halt_after_events_that_were_missed_is_kept_as_it_may_be_another_one() {
        let (mut reader, mut waiting) = reader(4);
        let stale = || {
            let message = "it is not as it was";
            What::Hindered(Cause::new(Reason::PlanStale, message))
        };
        for heard in [heard(1, stale()), heard(2, stale()), Heard::Missed(7), heard(10, stale())] {
            reader.hear(heard);
        }
        assert_eq!(std::iter::from_fn(|| waiting.try_recv().ok()).count(), 2);
    }

    /// What is logged, by the one test that looks.
    static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    #[test]
    fn decisions_that_find_the_queue_full_are_told_once_with_their_number() {
        let log = tracing_subscriber::fmt().json();
        let _guard = log.with_writer(|| LOGGED.make_writer()).set_default();
        let told = || {
            let text = String::from_utf8(std::mem::take(&mut *LOGGED.lock().unwrap())).unwrap();
            let counts = text.lines().map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                line["fields"]["count"].as_u64().unwrap()
            });
            counts.collect::<Vec<_>>()
        };
        let (mut reader, mut waiting) = reader(2);
        let mut decide = |sequences: std::ops::RangeInclusive<u64>| {
            sequences.for_each(|sequence| reader.hear(heard(sequence, What::TakenOver)));
        };
        decide(1..=5);
        assert_eq!(told(), [0; 0], "the queue is still full");
        while waiting.try_recv().is_ok() {}
        decide(6..=8);
        assert_eq!(told(), [3]);
        drop(reader);
        assert_eq!(told(), [1], "of the last ones in the end");
    }
}
