//! Builds a Go module into the cache.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use super::module::Module;
use crate::process::log_tail;

/// Between two lines that say that a build, or a wait for one, still goes on.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Between two looks at the compiler, or at the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A build that takes longer hangs.
const BUILD_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Why a module could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file in the cache could not be written.
    #[error("could not prepare {}", path.display())]
    Prepare {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The lock that keeps two processes from building at once could not be had.
    #[error("could not lock {}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The compiler could not be started.
    #[error("could not run {}", go.display())]
    RunGo {
        /// The compiler.
        go: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The compiler failed.
    #[error("`go build` in {} failed ({status}); the end of its output:\n{tail}", folder.display())]
    Compile {
        /// The folder of the source.
        folder: PathBuf,
        /// How the compiler ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        tail: String,
    },
    /// The compiler, or another process that builds the same, did not end.
    #[error("no end of the build in {} after {} minutes", folder.display(), BUILD_TIMEOUT.as_secs() / 60)]
    Endless {
        /// The folder in the cache.
        folder: PathBuf,
    },
    /// The result could not be put in its place.
    #[error("could not put the built programs into {}", path.display())]
    Install {
        /// Where they belong.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Builds a module into its folder, unless another process has done so meanwhile.
pub(super) async fn build(module: &Module, go: &Path, path: &OsStr, folder: &Path) -> Result<(), Error> {
    let source = folder.join("src");
    let prepare = |path: &Path, result: io::Result<()>| {
        result.map_err(|source| Error::Prepare { path: path.to_owned(), source })
    };
    prepare(&source, fs::create_dir_all(&source))?;
    // Held until the end of this function; the kernel gives it up for a process that dies.
    let _lock = lock(&folder.join("lock"), folder).await?;
    let binaries = folder.join("bin");
    if module.programs.iter().all(|program| binaries.join(program).exists()) {
        return Ok(());
    }
    for (name, content) in module.files {
        let file = source.join(name);
        prepare(&file, fs::write(&file, content))?;
    }
    let built = compile(module, go, path, folder, &source).await?;
    install(module, &built, &binaries).map_err(|source| Error::Install { path: binaries.clone(), source })?;
    Ok(())
}

async fn lock(path: &Path, folder: &Path) -> Result<File, Error> {
    let failed = |source| Error::Lock { path: path.to_owned(), source };
    let file = File::options().create(true).append(true).open(path).map_err(failed)?;
    let mut progress =
        Progress::start(format!("another process builds {}; waiting for it", folder.display()));
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => progress.wait(folder).await?,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}

/// The compiled file, under a name that no other process uses.
async fn compile(
    module: &Module,
    go: &Path,
    path: &OsStr,
    folder: &Path,
    source: &Path,
) -> Result<PathBuf, Error> {
    let output = folder.join(format!("built-{}", std::process::id()));
    let log = folder.join("build.log");
    let log_file = File::create(&log).map_err(|source| Error::Prepare { path: log.clone(), source })?;
    let failed = |source| Error::RunGo { go: go.to_owned(), source };
    let mut command = compiler(module, go, source, &output);
    let child = command.env("PATH", path).stderr(log_file).spawn().map_err(failed)?;
    let mut child = KillOnDrop(child);
    let text = format!("building {}, once, into {}", module.programs.join(", "), folder.display());
    let mut progress = Progress::start(format!("{text} (the first time takes {})", module.duration));
    let status = loop {
        match child.0.try_wait().map_err(failed)? {
            Some(status) => break status,
            None => progress.wait(folder).await?,
        }
    };
    if status.success() {
        return Ok(output);
    }
    let _ = fs::remove_file(&output);
    Err(Error::Compile { folder: source.to_owned(), status, tail: log_tail(&log) })
}

fn compiler(module: &Module, go: &Path, source: &Path, output: &Path) -> Command {
    let mut command = Command::new(go);
    command
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", module.linker_flags, "-o"])
        .args([output.as_os_str(), OsStr::new(".")])
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Makes the programs appear all at once: the names first, then the file that they all point to.
fn install(module: &Module, built: &Path, binaries: &Path) -> io::Result<()> {
    fs::create_dir_all(binaries)?;
    let file = format!("{}-servers", module.name);
    for program in module.programs {
        match symlink(&file, binaries.join(program)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    fs::rename(built, binaries.join(file))
}

/// A compiler that nobody waits for any more need not go on.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says on standard error, now and then, what takes so long.
struct Progress {
    text: String,
    started: Instant,
    said: Option<Instant>,
}

impl Progress {
    fn start(text: String) -> Self {
        Self { text, started: Instant::now(), said: None }
    }

    fn say(&mut self) {
        let elapsed = self.started.elapsed().as_secs();
        eprintln!("testenv: {}: {} min {:02} s so far", self.text, elapsed / 60, elapsed % 60);
        self.said = Some(Instant::now());
    }

    async fn wait(&mut self, folder: &Path) -> Result<(), Error> {
        if self.started.elapsed() > BUILD_TIMEOUT {
            return Err(Error::Endless { folder: folder.to_owned() });
        }
        if self.said.is_none_or(|said| said.elapsed() >= PROGRESS_INTERVAL) {
            self.say();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::module::KUBERNETES;

    /// A shell writes the file: while this process has it open for writing, nobody could execute it.
    fn script(folder: &Path, commands: &str) -> PathBuf {
        let go = folder.join("go");
        let text = format!("#!/bin/sh\n{commands}\n");
        let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
        assert!(Command::new("sh").arg("-c").arg(write).arg(&go).arg(text).status().unwrap().success());
        go
    }

    #[tokio::test]
    async fn a_failed_build_is_an_error_with_the_output_of_the_compiler() {
        let root = tempfile::tempdir().unwrap();
        let go = script(root.path(), "echo 'main.go: something is wrong' >&2; exit 3");
        let error =
            build(&KUBERNETES, &go, OsStr::new("/bin"), &root.path().join("cache")).await.unwrap_err();
        assert!(error.to_string().ends_with("main.go: something is wrong"), "{error}");
    }

    #[tokio::test]
    async fn two_builds_at_once_run_the_compiler_once_and_every_program_is_there() {
        let root = tempfile::tempdir().unwrap();
        // The seventh argument is the output file.
        let count = root.path().join("count");
        let commands = format!("echo once >> {}; sleep 0.5; echo program > \"$7\"", count.display());
        let go = script(root.path(), &commands);
        let cache = root.path().join("cache");
        let path = OsStr::new("/bin:/usr/bin");
        let (first, second) =
            tokio::join!(build(&KUBERNETES, &go, path, &cache), build(&KUBERNETES, &go, path, &cache));
        first.unwrap();
        second.unwrap();
        assert_eq!(fs::read_to_string(count).unwrap(), "once\n");
        for program in KUBERNETES.programs {
            assert_eq!(fs::read_to_string(cache.join("bin").join(program)).unwrap(), "program\n");
        }
    }
}
