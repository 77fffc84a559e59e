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
mod exit;
mod folders;
mod lane_tree;
mod log;
mod output;
mod own_kubeconfig;
mod private_file;
mod progress;
mod session;
mod status_tree;
mod work;

use std::process::ExitCode;

use clap::Parser as _;

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    log::begin(arguments.global.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("no runtime could be started")),
    };
    match runtime.block_on(commands::run(arguments)) {
        Ok(exit) => exit.into(),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    output::note(format_args!("dcm: {error:#}"));
    exit::code_of(error).into()
}
