//! One server process: its arguments, its log, its end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal};

use crate::guard::ProcessGroup;

/// How much of a log's end goes into an error.
const LOG_TAIL_LINES: usize = 30;

/// How much of a log's end is looked at to find those lines.
const LOG_TAIL_BYTES: u64 = 32 * 1024;

/// What Go's network library says when a port is in use.
const PORT_TAKEN: &str = "address already in use";

/// Why a server process did not start, or did not stay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log file of the server could not be opened.
    #[error("could not open the log {} of {program}", log.display())]
    OpenLog {
        /// The server.
        program: &'static str,
        /// Where its log was to be.
        log: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be executed.
    #[error("could not start {program} from {}", executable.display())]
    Spawn {
        /// The server.
        program: &'static str,
        /// The file that was to be executed.
        executable: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server ended although nobody had asked it to.
    #[error("{program} ended by itself ({status}); the end of its log {}:\n{tail}", log.display())]
    Ended {
        /// The server.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The server is stopped, so it can't do what was asked.
    #[error("{program} is stopped")]
    Stopped {
        /// The server.
        program: &'static str,
    },
}

impl Error {
    /// Whether another start, with other ports, can succeed: only when somebody else had taken the port.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Ended { tail, .. } if tail.contains(PORT_TAKEN))
    }
}

/// Everything that is needed to start a server, once or again.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) program: &'static str,
    pub(crate) executable: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) log: PathBuf,
}

/// A server that runs, or that was stopped.
#[derive(Debug)]
pub(crate) struct Server {
    launch: Launch,
    group: ProcessGroup,
    child: Option<Child>,
}

impl Server {
    /// A server that is not started yet.
    pub(crate) fn new(launch: Launch, group: ProcessGroup) -> Self {
        Self { launch, group, child: None }
    }

    /// Adds an argument for the next start.
    pub(crate) fn add_argument(&mut self, argument: String) {
        self.launch.arguments.push(argument);
    }

    /// Starts the process, with the same arguments as ever, unless it was started and not killed.
    pub(crate) fn start(&mut self) -> Result<(), Error> {
        if self.child.is_some() {
            return Ok(());
        }
        let Launch { program, executable, arguments, log } = &self.launch;
        let open = || OpenOptions::new().create(true).append(true).open(log);
        let (output, errors) = open()
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|source| Error::OpenLog { program, log: log.clone(), source })?;
        let mut command = Command::new(executable);
        command.args(arguments).stdin(Stdio::null()).stdout(output).stderr(errors);
        if let Some(folder) = log.parent() {
            command.current_dir(folder);
        }
        self.group.adopt(&mut command);
        let spawned = command.spawn();
        self.child = Some(spawned.map_err(|source| Error::Spawn {
            program,
            executable: executable.clone(),
            source,
        })?);
        Ok(())
    }

    /// Fails when the process does not run.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        let program = self.launch.program;
        let child = self.child.as_mut().ok_or(Error::Stopped { program })?;
        match child.try_wait() {
            Ok(Some(status)) => {
                let log = self.launch.log.clone();
                Err(Error::Ended { program, status, tail: log_tail(&log), log })
            }
            // An answer that can't be had is no sign of an end; whoever waits for readiness has a limit.
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Starts the process again if it has ended by itself. One that was killed stays so.
    pub(crate) fn revive(&mut self) -> Result<(), Error> {
        if matches!(self.check(), Err(Error::Ended { .. })) {
            self.child = None;
            self.start()?;
        }
        Ok(())
    }

    /// Kills the process, without a chance to finish anything, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a signal to the process, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.process_id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            // It fails for a process that has ended: nobody is there to be told.
            let _ = rustix::process::kill_process(id, signal);
        }
    }

    pub(crate) fn log(&self) -> &Path {
        &self.launch.log
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last lines of a log, or why there are none.
pub(crate) fn log_tail(log: &Path) -> String {
    let text = match read_end(log) {
        Ok(text) => text,
        Err(error) => return format!("(unreadable: {error})"),
    };
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "(empty)".to_owned();
    }
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

fn read_end(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;

    #[test]
    fn the_tail_of_a_log_is_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        let lines: Vec<String> = (1..=100).map(|n| format!("line {n}")).collect();
        std::fs::write(&log, lines.join("\n")).unwrap();
        assert_eq!(log_tail(&log), lines[70..].join("\n"));
        assert!(log_tail(&folder.path().join("none")).starts_with("(unreadable"));
    }

    /// A server that is a shell script.
    fn server(folder: &Path, script: &str) -> (Guard, Server) {
        let guard = Guard::start(folder.join("environment")).unwrap();
        let launch = Launch {
            program: "script",
            executable: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            log: folder.join("script.log"),
        };
        let mut server = Server::new(launch, guard.group());
        server.start().unwrap();
        (guard, server)
    }

    fn end(server: &mut Server) -> Error {
        loop {
            if let Err(error) = server.check() {
                return error;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_server_that_ended_by_itself_is_revived_and_one_that_was_killed_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (_guard, mut server) = server(folder.path(), "exit 3");
        assert!(matches!(end(&mut server), Error::Ended { .. }));
        let first = server.process_id();
        server.revive().unwrap();
        assert!(server.process_id().is_some() && server.process_id() != first);
        server.kill();
        server.revive().unwrap();
        assert_eq!(server.process_id(), None);
    }

    #[test]
    fn a_server_that_ends_is_an_error_with_the_end_of_its_log_and_another_port_helps_if_that_was_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (_guard, mut server) = server(folder.path(), "echo 'bind: address already in use'; exit 3");
        let error = end(&mut server);
        assert!(error.is_retryable());
        assert!(error.to_string().starts_with("script ended by itself (exit status: 3)"), "{error}");
        assert!(error.to_string().ends_with("bind: address already in use"), "{error}");
    }

    #[test]
    fn a_server_that_ends_for_another_reason_is_not_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let (_guard, mut server) = server(folder.path(), "echo 'unknown flag'; exit 1");
        assert!(!end(&mut server).is_retryable());
    }

    #[test]
    fn a_killed_server_can_be_started_again_and_its_log_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let (_guard, mut server) = server(folder.path(), "echo started; exec sleep 600");
        let lines = |server: &Server| std::fs::read_to_string(server.log()).unwrap().lines().count();
        while lines(&server) < 1 {
            server.check().unwrap();
        }
        server.kill();
        assert!(matches!(server.check(), Err(Error::Stopped { .. })));
        server.start().unwrap();
        while lines(&server) < 2 {
            server.check().unwrap();
        }
    }
}
