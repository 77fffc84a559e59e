//! What is logged, on standard error.
//!
//! Only our own crates are ever asked for more than warnings: what others write at such levels may hold what is sent
//! over connections.

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::otlp::Export;

/// Our own crates.
pub(crate) const OURS: [&str; 8] =
    ["dcm_cli", "dcm_core", "dcm_identity", "dcm_kube", "dcm_rest", "dcm_server", "dcm_store", "dcm_sync"];

/// The form of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line, with the spans that it is in: request, lane, call.
    Json,
}

/// Begins to log: errors, or more for each `-v`. Spans may be sent to a collector as well, whatever is logged.
pub(crate) fn begin(verbose: u8, form: Form, export: Option<&Export>) {
    let filter = match verbose {
        0 => "error".to_owned(),
        1 => ours("info"),
        2 => ours("debug"),
        _ => ours("trace"),
    };
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let log = match form {
        Form::Text => log.boxed(),
        Form::Json => log.json().boxed(),
    };
    let log = log.with_filter(EnvFilter::new(filter));
    // There is one already only where the command runs inside a test.
    let _ = tracing_subscriber::registry().with(export.map(Export::layer)).with(log).try_init();
}

fn ours(level: &str) -> String {
    let ours: Vec<String> = OURS.iter().map(|one| format!("{one}={level}")).collect();
    format!("warn,{}", ours.join(","))
}
