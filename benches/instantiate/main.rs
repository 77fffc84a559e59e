//! What instantiating logical clouds costs: time beside the least possible, requests, CPU and memory a lane; and how long it
//! takes until a cluster is as it should be again.
//!
//! ```text
//! cargo bench -p dcm-benches --bench instantiate [-- wall|scale]
//! ```
//!
//! Every figure that depends on the machine is a ratio taken within one run, or a cost of CPU or memory. The logical
//! cloud is always the same: [`dcm_benches::cloud`]. The test `smallest` has this file as a module.
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod document;
mod figures;
mod floor;
mod kubectl;
mod ours;
mod recover;
mod requests;
mod scale;
mod servers;
mod wall;

use anyhow::Result;
use dcm_benches::parts::{Asked, wanted};
use dcm_benches::report::Report;
use dcm_benches::size::Size;

use servers::Servers;
use wall::Contest;

/// The name of this bench.
const BENCH: &str = "instantiate";

pub(crate) fn main() -> Result<()> {
    match Asked::read()? {
        Asked::Child(order) => scale::child(&order).map(|never| match never {}),
        Asked::Parts(parts) => {
            tokio::runtime::Runtime::new()?.block_on(measure(&parts, Size::Whole))?.publish(BENCH, &parts)
        }
        Asked::Nothing => Ok(()),
    }
}

pub(crate) async fn measure(parts: &[String], size: Size) -> Result<Report> {
    let mut report = Report::default();
    let scale = if wanted(parts, "scale") { Some(scale::run(size).await?) } else { None };
    if let Some(scale) = &scale {
        figures::add_scale(&mut report, scale);
    }
    if wanted(parts, "wall") {
        let servers = Servers::start(size).await?;
        let contest = Contest::start(&servers, size).await?;
        let walls = contest.run().await?;
        figures::add_walls(&mut report, &walls);
        if let Some(scale) = &scale {
            figures::add_lane_over_floor(&mut report, scale, &walls, servers.clusters().len());
        }
        figures::add_requests(&mut report, &requests::count(&servers, &contest).await?);
        figures::add_recovery(&mut report, &recover::run(&servers, &contest).await?);
        contest.stop().await;
    }
    Ok(report)
}
