//! `dcm store rekey`: another key for all documents.

use std::time::Duration;

use dcm_server::{RekeyReport, Rekeying, rekey};

use crate::arguments::Global;
use crate::exit::Exit;
use crate::session::configuration_of;
use crate::{duration, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Uses the current key instead of a new one, for example to complete an interrupted rekey.
    #[arg(long)]
    same_key: bool,
    /// Removes the earlier keys at the end.
    ///
    /// Earlier copies of the store can't be opened without them. Workers with keys of their own (another file, or DCM_KEYS) need
    /// the new key first.
    #[arg(long)]
    forget_earlier: bool,
    /// Wait before earlier keys are removed, for writes in flight that were signed with them: several times the store's timeout.
    #[arg(long, default_value = "2m", value_parser = duration::parse, value_name = "DURATION")]
    settle: Duration,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let configuration = configuration_of(global)?;
    let Arguments { same_key, forget_earlier, settle } = *arguments;
    let rekeying = Rekeying { new_key: !same_key, forget_earlier, settle };
    let report = rekey(&configuration, rekeying, |progress| {
        tracing::info!(documents = progress.documents, resealed = progress.resealed, "rekeying");
    });
    let report = report.await?;
    output::print_either(global.output, &report, || said(&report))?;
    Ok(Exit::Done)
}

fn said(report: &RekeyReport) -> String {
    let RekeyReport { current, rekeyed, forgotten } = report;
    let forgotten = match forgotten.as_slice() {
        [] => String::new(),
        ids => format!("forgotten: {}\n", ids.join(", ")),
    };
    let (documents, resealed) = (rekeyed.documents, rekeyed.resealed);
    format!(
        "key {current} encrypts and signs from now on; {resealed} of {documents} documents written anew\n{forgotten}"
    )
}
