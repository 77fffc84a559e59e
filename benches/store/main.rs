//! What is asked of a store, how engines share the work on one, and what long lists cost.
//!
//! ```text
//! cargo bench -p dcm-benches --bench store [-- requests|engines|lists] [memory|sqlite|etcd|mongodb]
//! ```
//!
//! Engines share etcd, whatever backend is named. The test `smallest` has this file as a module.
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod clouds;
mod counted;
mod engines;
mod figures;
mod lists;
mod places;
mod requests;
mod wire;

use anyhow::Result;
use dcm_benches::parts::{Asked, wanted};
use dcm_benches::report::Report;
use dcm_benches::size::Size;

use places::{Backend, Places};

/// The name of this bench.
const BENCH: &str = "store";

pub(crate) fn main() -> Result<()> {
    match Asked::read()? {
        Asked::Child(order) => lists::child(&order).map(|never| match never {}),
        Asked::Parts(parts) => {
            tokio::runtime::Runtime::new()?.block_on(measure(&parts, Size::Whole))?.publish(BENCH, &parts)
        }
        Asked::Nothing => Ok(()),
    }
}

pub(crate) async fn measure(parts: &[String], size: Size) -> Result<Report> {
    let mut report = Report::default();
    let (backends, parts) = backends(parts);
    let places = Places::start().await?;
    if wanted(&parts, "requests") {
        for &backend in &backends {
            figures::add_requests(&mut report, backend, &requests::run(&places, backend, size).await?);
        }
    }
    if wanted(&parts, "engines") {
        figures::add_engines(&mut report, &engines::run(&places, size).await?);
    }
    if wanted(&parts, "lists") {
        for &backend in &backends {
            figures::add_lists(&mut report, &lists::run(&places, backend, size).await?);
        }
    }
    Ok(report)
}

/// The backends that are named, or all, and the parts beside them.
fn backends(asked: &[String]) -> (Vec<Backend>, Vec<String>) {
    let is_named = |backend: &Backend| asked.iter().any(|asked| asked == backend.key());
    let named: Vec<Backend> = Backend::ALL.into_iter().filter(is_named).collect();
    let is_part = |asked: &&String| Backend::ALL.iter().all(|backend| backend.key() != *asked);
    let parts = asked.iter().filter(is_part).cloned().collect();
    (if named.is_empty() { Backend::ALL.to_vec() } else { named }, parts)
}
