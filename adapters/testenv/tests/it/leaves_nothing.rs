//! Nothing is left of an environment, whatever becomes of the process that owns it.
//!
//! The owner is this test program, started again with one test picked and a variable that says what it is to do.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

use crate::common;

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use common::eventually;
use dcm_testenv::Environment;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// What the owner is to do when its environment stands.
const FATE: &str = "TESTENV_OWNER_FATE";

/// A process that owns an environment.
struct Owner {
    process: Child,
    folder: PathBuf,
    servers: Vec<u32>,
    _output: Lines<BufReader<ChildStderr>>,
}

impl Owner {
    fn start(fate: &str) -> Self {
        // A program that a shell without job control starts in the background ignores interrupts, and so do those that it starts.
        let mut process = Command::new("env")
            .args(["--default-signal=INT", "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "leaves_nothing::an_owner", "--ignored", "--nocapture"])
            .process_group(0)
            .env(FATE, fate)
            .env_remove("DCM_TESTENV_KEEP")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stderr.take().unwrap()).lines();
        let line = output.find_map(|line| line.unwrap().strip_prefix("owner: ").map(str::to_owned)).unwrap();
        let (folder, servers) = line.split_once(' ').unwrap();
        let servers: Vec<u32> = servers.split(',').map(|id| id.parse().unwrap()).collect();
        assert_eq!(servers.len(), 3, "etcd, an API server and a controller manager");
        assert!(servers.iter().all(|id| is_running(*id)));
        Self { process, folder: folder.into(), servers, _output: output }
    }

    /// Interrupts it and all that is in its process group, as a terminal does.
    fn interrupt(&self) {
        let group = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process_group(group, Signal::INT).unwrap();
    }

    /// Waits until it has ended, which it must.
    fn end(&mut self) -> ExitStatus {
        eventually(|| self.process.try_wait().unwrap())
    }

    fn assert_servers_are_gone(&self) {
        eventually(|| self.servers.iter().all(|id| !is_running(*id)).then_some(()));
        eventually(|| (!mentioned_by_a_process(&self.folder)).then_some(()));
    }
}

/// Whether a process exists and is more than the memory of one that nobody has waited for.
fn is_running(id: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &id.to_string()]).output().unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Every server, and the guard, has the folder among its arguments.
fn mentioned_by_a_process(folder: &Path) -> bool {
    let output = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains(folder.to_str().unwrap())
}

#[test]
fn a_killed_owner_leaves_no_process_and_no_folder() {
    let mut owner = Owner::start("wait");
    owner.process.kill().unwrap();
    owner.end();
    owner.assert_servers_are_gone();
    assert!(!owner.folder.exists());
}

/// Kills the guard of an owner's servers.
fn kill_guard(owner: &Owner) {
    let output = Command::new("ps").args(["-A", "-ww", "-o", "pid=,args="]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let folder = owner.folder.to_str().unwrap();
    let guards: Vec<&str> =
        text.lines().filter(|line| line.contains("testenv-guard") && line.contains(folder)).collect();
    let [guard] = guards[..] else { panic!("one guard is expected: {guards:?}") };
    let id = guard.split_whitespace().next().unwrap().parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(id, Signal::KILL).unwrap();
}

#[test]
fn a_killed_owner_whose_guard_was_killed_too_leaves_no_process() {
    let mut owner = Owner::start("wait");
    kill_guard(&owner);
    owner.process.kill().unwrap();
    owner.end();
    owner.assert_servers_are_gone();
    std::fs::remove_dir_all(&owner.folder).unwrap();
}

#[test]
fn a_guard_that_is_killed_alone_leaves_the_servers_until_their_owner_is_gone() {
    let mut owner = Owner::start("wait");
    kill_guard(&owner);
    assert!(owner.servers.iter().all(|id| is_running(*id)));
    drop(owner.process.stdin.take());
    owner.end();
    owner.assert_servers_are_gone();
    std::fs::remove_dir_all(&owner.folder).unwrap();
}

#[test]
fn an_interrupt_from_the_terminal_which_goes_to_the_whole_process_group_leaves_no_process_and_no_folder() {
    let mut owner = Owner::start("wait");
    owner.interrupt();
    assert_eq!(owner.end().signal(), Some(Signal::INT.as_raw()));
    owner.assert_servers_are_gone();
    assert!(!owner.folder.exists());
}

#[test]
fn an_owner_that_ends_with_its_environment_still_shared_leaves_no_process_and_no_folder() {
    let mut owner = Owner::start("share");
    drop(owner.process.stdin.take());
    assert!(owner.end().success());
    owner.assert_servers_are_gone();
    assert!(!owner.folder.exists());
}

#[test]
fn a_panicking_owner_leaves_no_process_and_keeps_the_folder_with_the_logs() {
    let mut owner = Owner::start("panic");
    drop(owner.process.stdin.take());
    assert!(!owner.end().success());
    owner.assert_servers_are_gone();
    assert!(owner.folder.join("cluster-1/kube-apiserver.log").exists());
    std::fs::remove_dir_all(&owner.folder).unwrap();
}

#[tokio::test]
async fn a_dropped_environment_is_gone_when_the_drop_is_over() {
    let environment = Environment::builder().start().await.unwrap();
    let (folder, servers) = (environment.folder().to_owned(), environment.process_ids());
    drop(environment);
    assert!(servers.iter().all(|id| !is_running(*id)));
    assert!(!folder.exists() && !mentioned_by_a_process(&folder));
}

#[tokio::test]
#[ignore = "started by other tests, as a process of its own"]
async fn an_owner() {
    let Ok(fate) = std::env::var(FATE) else { return };
    if fate == "share" {
        announce(&Environment::shared(1).await.unwrap());
        return;
    }
    let environment = Environment::builder().start().await.unwrap();
    announce(&environment);
    assert_ne!(fate, "panic", "as wanted");
}

fn announce(environment: &Environment) {
    let ids: Vec<String> = environment.process_ids().iter().map(ToString::to_string).collect();
    eprintln!("\nowner: {} {}", environment.folder().display(), ids.join(","));
    // Until the test has seen enough, and closes the pipe.
    std::io::stdin().lines().count();
}
