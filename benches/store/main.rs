//! What is asked of a store, how engines share the work on one, and what long lists cost.
//!
//! ```text
//! cargo bench -p dcm-benches --bench store [-- requests|engines|lists]
//! ```
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
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

use places::{Backend, Places};

fn main() -> Result<()> {
    match Asked::read()? {
        Asked::Child(order) => lists::child(&order).map(|never| match never {}),
        Asked::Parts(parts) => tokio::runtime::Runtime::new()?.block_on(run(&parts)),
        Asked::Nothing => Ok(()),
    }
}

async fn run(parts: &[String]) -> Result<()> {
    let mut report = Report::default();
    let places = Places::start().await?;
    if wanted(parts, "requests") {
        for backend in Backend::ALL {
            figures::add_requests(&mut report, backend, &requests::run(&places, backend).await?);
        }
    }
    if wanted(parts, "engines") {
        figures::add_engines(&mut report, &engines::run(&places).await?);
    }
    if wanted(parts, "lists") {
        for backend in Backend::ALL {
            figures::add_lists(&mut report, &lists::run(&places, backend).await?);
        }
    }
    println!("{}\n{}", report.table(), report.json());
    Ok(())
}
