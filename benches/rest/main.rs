//! What the HTTP API costs: reads and writes a second beside a handler that does nothing, and memory over many requests.
//!
//! ```text
//! cargo bench -p dcm-benches --bench rest [-- rates|memory] [NUMBER]
//! ```
//!
//! The servers are processes of their own, asked over [`CONNECTIONS`](load::CONNECTIONS) connections that are kept. `NUMBER` is how many requests
//! memory is measured over. The test `smallest` has this file as a module.
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod figures;
mod load;
mod memory;
mod rates;
mod requests;
mod servers;

use anyhow::Result;
use dcm_benches::parts::{Asked, wanted};
use dcm_benches::report::Report;
use dcm_benches::size::Size;

/// Over how many requests memory is measured unless it is said.
const REQUESTS: u64 = 1_000_000;
const REQUESTS_SMALLEST: u64 = 200;

/// The name of this bench.
const BENCH: &str = "rest";

pub(crate) fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    match Asked::read()? {
        Asked::Child(order) => runtime.block_on(servers::child(&order)),
        Asked::Parts(parts) => runtime.block_on(measure(parts, Size::Whole))?.print(),
        Asked::Nothing => Ok(()),
    }
}

pub(crate) async fn measure(mut parts: Vec<String>, size: Size) -> Result<Report> {
    let number =
        parts.iter().find_map(|part| part.parse().ok()).unwrap_or(size.of(REQUESTS, REQUESTS_SMALLEST));
    parts.retain(|part| part.parse::<u64>().is_err());
    let mut report = Report::default();
    if wanted(&parts, "rates") {
        figures::add_rates(&mut report, &rates::run(size).await?);
    }
    if wanted(&parts, "memory") {
        figures::add_memory(&mut report, &memory::run(number).await?);
    }
    Ok(report)
}
