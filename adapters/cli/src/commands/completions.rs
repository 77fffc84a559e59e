//! `dcm completions`: a completion script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    let mut command = crate::arguments::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "dcm", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
