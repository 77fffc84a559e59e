//! Measuring in a process of its own, so that memory which an earlier measurement left does not count for this one.

use std::convert::Infallible;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::process::Command;

/// The first argument of a child process; the second is its order.
pub const CHILD: &str = "measure";

/// Runs this program once more with an order, and gives what it answers.
///
/// # Errors
/// When it can't be started, fails, or answers something else.
pub async fn run<A: DeserializeOwned>(order: &impl Serialize) -> Result<A> {
    let order = serde_json::to_string(order)?;
    let child = Command::new(std::env::current_exe()?)
        .args([CHILD, &order])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output();
    let output = child.await?;
    ensure!(output.status.success(), "{order}: {}", output.status);
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
