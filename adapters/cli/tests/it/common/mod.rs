//! Running the command as a user does.

pub(crate) mod confined;
pub(crate) mod database;
pub(crate) mod exchange;
pub(crate) mod guard;
pub(crate) mod installation;
pub(crate) mod inventory;
pub(crate) mod leftovers;
pub(crate) mod reader;
pub(crate) mod requests;
pub(crate) mod routes;
pub(crate) mod server;
pub(crate) mod somebody;
pub(crate) mod waiting;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

use dcm_testenv::effort::patience;
use rustix::process::{Pid, Signal, kill_process};

/// A kubeconfig of a cluster that is not there, with a token.
pub(crate) const UNREACHABLE: &str = "
apiVersion: v1
kind: Config
current-context: main
contexts: [{name: main, context: {cluster: main, user: main}}]
clusters: [{name: main, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: main, user: {token: hunter2}}]
";

/// A user with a home folder of their own.
pub(crate) struct User {
    home: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a run of the command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl User {
    pub(crate) fn new() -> Self {
        Self::with([])
    }

    /// With variables in the environment.
    pub(crate) fn with(variables: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self { home: tempfile::tempdir().unwrap(), variables: variables.into_iter().collect() }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The command, with nothing of the environment that could change what it does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcm"));
        command.env_clear().env("HOME", self.home()).env("USER", "ann").current_dir(self.home());
        command.envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Ran {
        Ran::of(self.command().args(arguments).stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        fed(self.command().args(arguments), input)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.home().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }
}

/// Kinds of all objects that are made for a logical cloud, as kubectl takes them.
pub(crate) const OWNED_KINDS: &str = "namespaces,resourcequotas,limitranges,serviceaccounts,roles,rolebindings,clusterroles,\
                                      clusterrolebindings,networkpolicies,certificatesigningrequests";

/// What a program says; it must end well.
#[track_caller]
pub(crate) fn said(command: &mut Command) -> String {
    Ran::of(command.stdin(Stdio::null()).output().unwrap()).done()
}

/// Runs a program with a text on its standard input.
pub(crate) fn fed(command: &mut Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

/// Asks a process to end, as Ctrl-C does.
pub(crate) fn interrupt(process: &Child) {
    kill_process(Pid::from_child(process), Signal::INT).unwrap();
}

/// The code that a process ends with; it must end by itself.
#[track_caller]
pub(crate) fn code_of(mut child: Child) -> Option<i32> {
    let (id, (ended, code)) = (Pid::from_child(&child), mpsc::channel());
    std::thread::spawn(move || ended.send(child.wait().unwrap().code()));
    code.recv_timeout(patience()).unwrap_or_else(|_| {
        kill_process(id, Signal::KILL).unwrap();
        panic!("it goes on and on")
    })
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Its result, when it ended well.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:#?}");
        self.out
    }

    /// What it said, when it ended with this code.
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:#?}");
        self.err
    }
}
