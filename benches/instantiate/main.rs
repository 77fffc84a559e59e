//! What instantiating logical clouds costs: time beside the least possible, requests, CPU and memory a lane; and how long it
//! takes until a cluster is as it should be again.
//!
//! ```text
//! cargo bench -p dcm-benches --bench instantiate [-- wall|scale]
//! ```
//!
//! Every figure that depends on the machine is a ratio taken within one run, or a cost of CPU or memory. The logical
//! cloud is always the same: `cloud.rs`.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod cloud;
mod document;
mod floor;
mod kubectl;
mod ours;
mod recover;
mod report;
mod requests;
mod scale;
mod servers;
mod usage;
mod wall;

use anyhow::Result;

use report::Report;
use servers::Servers;
use wall::Contest;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [scale::CHILD, order] => scale::child(order).map(|never| match never {}),
        // `cargo test --benches` runs benches without this, and without optimisation.
        _ if !arguments.contains(&"--bench") => {
            eprintln!("measured by `cargo bench` only");
            Ok(())
        }
        _ => {
            let wanted =
                |part| !arguments.iter().any(|part| !part.starts_with('-')) || arguments.contains(&part);
            let runtime = tokio::runtime::Runtime::new()?;
            runtime.block_on(run(wanted("wall"), wanted("scale")))
        }
    }
}

async fn run(wall: bool, scale: bool) -> Result<()> {
    let mut report = Report::default();
    if scale {
        report.add_scale(&scale::run().await?);
    }
    if wall {
        let servers = Servers::start().await?;
        let contest = Contest::start(&servers).await?;
        report.add_walls(&contest.run().await?);
        report.add_requests(&requests::count(&servers, &contest).await?);
        report.add_recovery(&recover::run(&servers, &contest).await?);
        contest.stop().await;
    }
    println!("{}\n{}", report.table(), report.json());
    Ok(())
}
