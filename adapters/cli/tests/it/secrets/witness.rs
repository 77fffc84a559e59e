//! Runs the command as talkative as it gets, and keeps all that it says and all that it leaves on the disk.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::SystemTime;

use dcm_testenv::effort::patience;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Ran, User};
use crate::secrets::search::files_below;
use crate::secrets::servers::Servers;

pub(crate) struct Witness {
    user: User,
    pub(crate) servers: Option<Servers>,
    /// What is given to the command, and what it hands out: nobody looks for secrets there.
    outside: tempfile::TempDir,
    temporary: tempfile::TempDir,
    temporary_changed: SystemTime,
    /// What was said, by the arguments.
    pub(crate) said: Vec<(String, String)>,
    /// Every content that every file was seen with.
    pub(crate) kept: BTreeSet<(PathBuf, Vec<u8>)>,
}

impl Witness {
    pub(crate) fn new(servers: Option<Servers>) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let temporary_changed = changed(temporary.path());
        let outside = tempfile::tempdir().unwrap();
        let (said, kept) = (Vec::new(), BTreeSet::new());
        Self { user: User::new(), servers, outside, temporary, temporary_changed, said, kept }
    }

    /// A file that the user has anyway.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.outside.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.outside(name), text).unwrap();
        self.outside(name).to_str().unwrap().to_owned()
    }

    /// The URLs of all stores.
    pub(crate) fn stores(&self) -> Vec<String> {
        let file = || format!("sqlite:{}", self.home().join(".local/share/dcm/store.db").display());
        self.servers.as_ref().map_or_else(|| vec![file()], |servers| servers.urls().to_vec())
    }

    /// Where the command keeps everything.
    pub(crate) fn home(&self) -> &Path {
        self.user.home()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.user.command();
        // Whatever asks for more words than the command has an option for.
        command.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full").env("TMPDIR", self.temporary.path());
        if let Some([store, contexts_store]) = self.servers.as_ref().map(Servers::urls) {
            command.env("DCM_STORE", store).env("DCM_CONTEXTS_STORE", contexts_store);
        }
        command.args(arguments).args(["-vvvv", "--lease", "1s"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command, looks at the disk at each line that it says, and keeps all that it says.
    pub(crate) fn run(&mut self, arguments: &[&str]) -> Ran {
        let ran = self.hand_out(arguments);
        self.said.push((arguments.join(" "), ran.out.clone()));
        ran
    }

    /// The same, but for its result, which is a kubeconfig.
    pub(crate) fn hand_out(&mut self, arguments: &[&str]) -> Ran {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut result = child.stdout.take().unwrap();
        let result = std::thread::spawn(move || {
            let mut out = String::new();
            result.read_to_string(&mut out).unwrap();
            out
        });
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut err = String::new();
        while lines.read_line(&mut err).unwrap() > 0 {
            self.look();
        }
        let (code, out) = (child.wait().unwrap().code().unwrap_or(-1), result.join().unwrap());
        self.look();
        self.said.push((arguments.join(" "), err.clone()));
        Ran { code, out, err }
    }

    /// Starts the command and does not wait for its end.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Running {
        let mut child = self.command(arguments).spawn().unwrap();
        let (sender, lines) = channel();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        for stream in [Box::new(out) as Box<dyn std::io::Read + Send>, Box::new(err)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines() {
                    // Whoever listened may be gone.
                    let _ = sender.send(line.unwrap());
                }
            });
        }
        Running { name: arguments.join(" "), child, lines, said: String::new() }
    }

    /// Keeps what is on the disk now.
    pub(crate) fn look(&mut self) {
        self.kept.extend(files_below(self.user.home()));
    }

    /// Ends a command that was begun, and keeps what it said.
    pub(crate) fn end(&mut self, running: Running, signal: Signal) {
        let (name, said) = running.end(signal);
        self.look();
        self.said.push((name, said));
    }

    /// The folder for temporary files has none, and never had one: its time would tell.
    pub(crate) fn assert_nothing_temporary(&self) {
        assert_eq!(std::fs::read_dir(self.temporary.path()).unwrap().count(), 0);
        assert_eq!(changed(self.temporary.path()), self.temporary_changed);
    }
}

fn changed(folder: &Path) -> SystemTime {
    folder.metadata().unwrap().modified().unwrap()
}

/// A command that was begun.
pub(crate) struct Running {
    name: String,
    child: Child,
    lines: Receiver<String>,
    said: String,
}

impl Running {
    /// Waits until it says this.
    pub(crate) fn until(&mut self, text: &str) {
        loop {
            let line = self.lines.recv_timeout(patience());
            let line = line.unwrap_or_else(|_| panic!("{} never said {text}:\n{}", self.name, self.said));
            self.said.push_str(&line);
            self.said.push('\n');
            if line.contains(text) {
                return;
            }
        }
    }

    /// Sends the signal, and gives the name and all that was said.
    fn end(mut self, signal: Signal) -> (String, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap();
        for line in &self.lines {
            self.said.push_str(&line);
            self.said.push('\n');
        }
        (std::mem::take(&mut self.name), std::mem::take(&mut self.said))
    }
}

impl Drop for Running {
    /// It ends with the test, however that ends.
    fn drop(&mut self) {
        // Nothing is left to do for one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
