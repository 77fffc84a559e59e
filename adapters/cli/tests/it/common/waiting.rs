//! A command that waits for work while the test looks on: the test decides by what it sees when the waiting is over.

use std::io::Write as _;
use std::process::{Output, Stdio};
use std::sync::mpsc::{self, TryRecvError};

use dcm_testenv::Cluster;
use dcm_testenv::effort::patience;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::installation::{Installation, registered};
use super::{Ran, User};

/// The exit code of a command that was interrupted.
pub(crate) const INTERRUPTED: i32 = 130;

/// The exit code for a name that is not there.
const NOT_THERE: i32 = 6;

/// A command in the background. It is killed when it is dropped before its end.
pub(crate) struct Waiting {
    id: Pid,
    output: mpsc::Receiver<Output>,
}

impl User {
    /// Begins a command with a text on its standard input.
    pub(crate) fn begin(&self, arguments: &[&str], input: &str) -> Waiting {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let (id, (ended, output)) = (Pid::from_child(&child), mpsc::channel());
        // A test that failed does not receive it.
        std::thread::spawn(move || drop(ended.send(child.wait_with_output().unwrap())));
        Waiting { id, output }
    }
}

impl Waiting {
    /// Interrupts the command, and returns what it left.
    #[track_caller]
    pub(crate) fn interrupt(self) -> Ran {
        kill_process(self.id, Signal::INT).unwrap();
        self.end()
    }

    /// Waits until the command ends by itself, and returns what it left.
    #[track_caller]
    pub(crate) fn end(self) -> Ran {
        Ran::of(self.output.recv_timeout(patience()).expect("the command ends"))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Err(TryRecvError::Empty) = self.output.try_recv() {
            // It may have ended just now.
            let _ = kill_process(self.id, Signal::KILL);
        }
    }
}

impl Installation<'_> {
    /// Begins to apply a document.
    pub(crate) fn begin_to_apply(&self, document: &Value) -> Waiting {
        self.person.begin(&["apply", "-f", "-"], &document.to_string())
    }

    /// The status of a cloud; none before it is accepted.
    pub(crate) fn status_so_far(&self, cloud: &str) -> Option<Value> {
        let ran = self.person.run(["status", cloud, "-o", "json"]);
        (ran.code != NOT_THERE).then(|| serde_json::from_str(&ran.done()).unwrap())
    }
}

/// How far the cloud of a status is on one cluster.
pub(crate) fn lane_in<'a>(status: &'a Value, cluster: &Cluster) -> &'a Value {
    &status["clusters"][registered(cluster)]["lane"]
}
