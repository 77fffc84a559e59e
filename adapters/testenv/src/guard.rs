//! What ends the servers when the test process cannot do it any more.
//!
//! Two small shell processes stand beside the servers. The *anchor* leads the process group that every server is started
//! in. The *guard* is outside of it; it holds the read end of a pipe whose write end only this process has. When that
//! process ends, in whatever way, the kernel closes the pipe, and the guard kills the group and deletes the folder. The anchor has
//! such a pipe, too, and kills the group as well, for a guard that was killed itself; then only the folder is left.
//!
//! There is no moment in which a server could slip through: a child that has just been forked holds a copy of the write
//! end until it becomes the server, and it is in the group before that.
//!
//! Both are in process groups of their own, so that an interrupt from the terminal does not reach them.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

const SCRIPT: &str = include_str!("guard.sh");

/// Waits for the end of its input, and leads the group meanwhile; then it kills all of the group, itself too.
const ANCHOR: &str = "trap '' HUP INT TERM; read -r _; kill -s KILL 0";

/// Why the guard could not be set up, or spoken to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The shell that leads the process group did not start.
    #[error("could not start `sh` to lead the process group of the servers")]
    StartAnchor(#[source] io::Error),
    /// The shell that ends the servers did not start.
    #[error("could not start `sh` to guard the servers")]
    StartGuard(#[source] io::Error),
    /// The guard could not make the folder of the environment.
    #[error("the guard could not make the folder {}", .0.display())]
    MakeFolder(PathBuf),
}

impl Error {
    /// Whether the same call can succeed later: never, as nothing here depends on other processes.
    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// The process group that all servers of an environment are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessGroup(i32);

impl ProcessGroup {
    /// Makes a command start inside the group.
    pub(crate) fn adopt(self, command: &mut Command) {
        command.process_group(self.0);
    }
}

/// The guard of one environment, and the folder that it deletes.
#[derive(Debug)]
pub(crate) struct Guard {
    folder: PathBuf,
    group: ProcessGroup,
    anchor: Child,
    process: Child,
    /// Its closing is the signal; nobody else may hold it.
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard, which makes the folder: what is made by the one who deletes it can't be left behind.
    pub(crate) fn start(folder: PathBuf) -> Result<Self, Error> {
        let mut anchor = shell(ANCHOR).spawn().map_err(Error::StartAnchor)?;
        match Self::start_beside(&mut anchor, &folder) {
            Ok((process, group, pipe)) => {
                Ok(Self { folder, group: ProcessGroup(group), anchor, process, pipe: Some(pipe) })
            }
            Err(error) => {
                end(&mut anchor);
                Err(error)
            }
        }
    }

    fn start_beside(anchor: &mut Child, folder: &Path) -> Result<(Child, i32, ChildStdin), Error> {
        let group = i32::try_from(anchor.id()).map_err(|error| Error::StartGuard(io::Error::other(error)))?;
        let mut process = shell(SCRIPT)
            .arg("testenv-guard")
            .arg(folder)
            .arg(group.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::StartGuard)?;
        let (Some(pipe), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::StartGuard(io::Error::other("its pipes are missing")));
        };
        let mut answer = String::new();
        BufReader::new(answers).read_line(&mut answer).map_err(Error::StartGuard)?;
        if answer.trim_end() == "ready" {
            return Ok((process, group, pipe));
        }
        end(&mut process);
        Err(Error::MakeFolder(folder.to_owned()))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn group(&self) -> ProcessGroup {
        self.group
    }

    /// Makes the guard leave the folder where it is, whatever happens from now on.
    pub(crate) fn keep(&mut self) -> io::Result<()> {
        self.pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(b"keep\n"))
    }

    /// Lets the guard kill every process of the group and delete the folder; does not wait for it.
    pub(crate) fn release(&mut self) {
        self.pipe = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.release();
        // The guard kills the anchor with the rest of the group. It ends by itself, after a bounded number of tries.
        let _ = self.anchor.wait();
        let _ = self.process.wait();
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).current_dir("/").process_group(0);
    // Whoever reads the output of the test process must not have to wait for the guard.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        std::env::temp_dir().join(format!("dcm-testenv-guard-{:x}", getrandom::u64().unwrap()))
    }

    fn sleeper(guard: &Guard) -> Child {
        let mut command = Command::new("sleep");
        guard.group().adopt(command.arg("600"));
        command.spawn().unwrap()
    }

    #[test]
    fn a_released_guard_kills_the_group_and_deletes_the_folder() {
        let mut guard = Guard::start(folder()).unwrap();
        let folder = guard.folder().to_owned();
        std::fs::write(folder.join("some.log"), "text").unwrap();
        let mut child = sleeper(&guard);
        guard.release();
        assert!(!child.wait().unwrap().success());
        drop(guard);
        assert!(!folder.exists());
    }

    #[test]
    fn a_guard_that_was_told_to_keep_the_folder_still_kills_the_group() {
        let mut guard = Guard::start(folder()).unwrap();
        let folder = guard.folder().to_owned();
        let mut child = sleeper(&guard);
        guard.keep().unwrap();
        guard.release();
        assert!(!child.wait().unwrap().success());
        drop(guard);
        assert!(folder.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
        let error = Guard::start(PathBuf::from("/dev/null/inside")).unwrap_err();
        assert_eq!(error.to_string(), "the guard could not make the folder /dev/null/inside");
    }
}
