//! The `dcm` command: logical clouds on Kubernetes clusters, from one document to working credentials and back to
//! nothing.
//!
//! One file for each subcommand, under `commands`. Results go to standard output, everything said beside them to
//! standard error; how the command ends is in `exit`.

mod age;
mod arguments;
mod commands;
mod drawing;
mod duration;
mod examples;
mod exit;
mod folders;
mod in_place;
mod lane_tree;
mod limits;
mod log;
mod otlp;
mod output;
mod own_kubeconfig;
mod place;
mod plugin;
mod private_file;
mod progress;
#[cfg(test)]
mod reference;
mod remote;
mod session;
mod similar;
mod status_tree;
mod work;

use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Runtime;

/// What `dcm` prints without arguments.
const WELCOME: &str = "\
dcm gives a tenant one logical cloud over many Kubernetes clusters: a namespace in each cluster, users with credentials,
permissions and quotas.

  dcm demo                     shows the life of a logical cloud on simulated clusters
  dcm cluster add --help       registers your first cluster
  dcm apply -f DOCUMENT.yaml   applies a logical cloud to its clusters

dcm --help lists all commands.";

/// How long what can't be interrupted (reading a file, looking up the name of a host) may hold up the end of the command.
/// Nothing waits for it any more.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    if std::env::args_os().len() == 1 {
        output::note(WELCOME);
        return exit::USAGE.into();
    }
    let arguments = arguments::Arguments::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    // Of a server it begins when it is known where else its spans go.
    if !matches!(arguments.command, arguments::Command::Serve(_)) {
        log::begin(arguments.global.verbose, arguments.global.log_format, None);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("no runtime could be started")),
    };
    let ended = runtime.block_on(commands::run(arguments));
    end(runtime);
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => failed(&error),
    }
}

/// Ends what is still under way. Dropping the runtime would wait without limit for what blocks.
fn end(runtime: Runtime) {
    runtime.shutdown_timeout(END_TIMEOUT);
}

fn failed(error: &anyhow::Error) -> ExitCode {
    output::note(format_args!("dcm: {error:#}"));
    exit::code_of(error).into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_blocks_for_ever_does_not_hold_up_the_end() {
        let runtime = Runtime::new().unwrap();
        let (begun, has_begun) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            let _ = held.recv();
        });
        has_begun.recv().unwrap();
        let (ended, has_ended) = mpsc::channel();
        std::thread::spawn(move || {
            end(runtime);
            ended.send(()).unwrap();
        });
        has_ended.recv_timeout(Duration::from_secs(30)).unwrap();
        drop(release);
    }
}
