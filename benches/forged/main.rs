//! What an API server that makes up what it answers, or a tenant with the largest objects, costs others: memory of the engine's process, and time of the other clusters.
//!
//! ```text
//! cargo bench -p dcm-benches --bench forged [-- wall|memory|heavy]
//! ```
//!
//! The engine is in a process of its own, over real API servers and, in every second run, over one that forges
//! ([`forger::Form`]). `wall` compares how long the other clusters take with and without it, as a ratio within one run.
//! `heavy` does the same with another tenant's objects that are as large as API servers take them ([`heavy::Heavy`]), and change each second meanwhile.
//! On one machine the API servers take part of the processors for that, too: a run where no engine follows those objects shows how much.
//! `memory` lets it answer as fast as it can: the limits of the rate are lifted. The test `smallest` has this file as a module.
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod engine;
mod forger;
mod heavy;
mod runs;

use anyhow::Result;
use dcm_benches::parts::{Asked, wanted};
use dcm_benches::report::{Bound, Report};
use dcm_benches::size::Size;

use forger::Form;
use heavy::Heavy;
use runs::Runs;

/// The name of this bench.
const BENCH: &str = "forged";

const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    match Asked::read()? {
        Asked::Child(order) => runtime.block_on(engine::child(&order)).map(|never| match never {}),
        Asked::Parts(parts) => runtime.block_on(measure(&parts, Size::Whole))?.print(),
        Asked::Nothing => Ok(()),
    }
}

pub(crate) async fn measure(parts: &[String], size: Size) -> Result<Report> {
    let mut report = Report::default();
    let mut runs = Runs::start(size).await?;
    for form in [Form::Objects, Form::Pages] {
        let (key, what) = (form.key(), form.what());
        if wanted(parts, "memory") {
            let peak = runs.memory(form).await?;
            report.add(
                format!("peak_mib_{key}"),
                format!("{what}: most memory of the engine's process, MiB"),
                peak.bytes as f64 / MIB,
                Bound::AtMost(512.0),
            );
            report.add(
                format!("answered_gib_{key}"),
                format!("{what}: answered, GiB"),
                peak.answered / MIB / 1024.0,
                None,
            );
        }
        if wanted(parts, "wall") {
            let walls = runs.walls(form).await?;
            report.add(
                format!("wall_ms_{key}"),
                "the other clusters without it, ms",
                walls.without * 1e3,
                None,
            );
            report.add(
                format!("wall_ratio_{key}"),
                format!("{what}: the other clusters, with it / without"),
                walls.with / walls.without,
                Bound::AtMost(1.1),
            );
            report.add(
                format!("wall_peak_mib_{key}"),
                format!("{what}: most memory meanwhile, MiB"),
                walls.peak_bytes as f64 / MIB,
                Bound::AtMost(512.0),
            );
        }
    }
    for heavy in Heavy::ALL {
        if wanted(parts, "heavy") {
            weigh(&mut report, &mut runs, heavy).await?;
        }
    }
    Ok(report)
}

async fn weigh(report: &mut Report, runs: &mut Runs, heavy: Heavy) -> Result<()> {
    let (key, what) = (heavy.key(), heavy.what());
    let weighed = runs.heavy(heavy).await?;
    report.add(
        format!("heavy_ms_{key}"),
        format!("{what}: other clouds without them, ms"),
        weighed.without * 1e3,
        None,
    );
    report.add(
        format!("heavy_ratio_{key}"),
        format!("{what}: other clouds while they change / without them"),
        weighed.with / weighed.without,
        Bound::AtMost(1.2),
    );
    report.add(
        format!("heavy_unfollowed_ratio_{key}"),
        format!("{what}: the same where no engine follows them: the work of the clusters"),
        weighed.unfollowed / weighed.without,
        None,
    );
    report.add(
        format!("heavy_step_ms_{key}"),
        format!("{what}: longest step of the engine's loop while they alone change, ms"),
        weighed.longest_step * 1e3,
        Bound::AtMost(10.0),
    );
    Ok(())
}
