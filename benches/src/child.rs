//! Measuring in a process of its own, so that memory which an earlier measurement left does not count for this one.

use std::convert::Infallible;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::process::Command;

/// The first argument of a child process. The second is the name of its bench, the third its order.
pub const CHILD: &str = "measure";

/// Returns a command that starts this program again, with an order for one of its benches.
///
/// # Errors
/// When the program's path is not known, or the order has no JSON form.
pub fn command(bench: &str, order: &impl Serialize) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([CHILD, bench, &serde_json::to_string(order)?]).kill_on_drop(true);
    Ok(command)
}

/// Runs this program once more with an order for one of its benches, and returns its answer.
///
/// # Errors
/// When it can't be started, fails, or answers something else.
pub async fn run<A: DeserializeOwned>(bench: &str, order: &impl Serialize) -> Result<A> {
    let mut child = command(bench, order)?;
    let output = child.stdin(Stdio::null()).stderr(Stdio::inherit()).output().await?;
    ensure!(output.status.success(), "{child:?}: {}", output.status);
    serde_json::from_slice(&output.stdout).context("a child prints what it measured as JSON")
}

/// The end of a child process: prints the line that its parent reads. Nobody waits for what was measured to be given back.
///
/// # Errors
/// When the answer has no JSON form.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub fn answer(answer: &impl Serialize) -> Result<Infallible> {
    println!("{}", serde_json::to_string(answer)?);
    std::process::exit(0)
}
