//! What is logged, on standard error.
//!
//! Only our own crates are ever asked for more than warnings: what others write at such levels may hold what is sent
//! over connections.

use tracing_subscriber::EnvFilter;

/// The form of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line, with the spans that it is in: request, lane, call.
    Json,
}

/// Begins to log: errors, or more for each `-v`.
pub(crate) fn begin(verbose: u8, form: Form) {
    let filter = match verbose {
        0 => "error".to_owned(),
        1 => ours("info"),
        2 => ours("debug"),
        _ => ours("trace"),
    };
    let filter = EnvFilter::new(filter);
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // There is one already only where the command runs inside a test.
    let _ = match form {
        Form::Text => log.try_init(),
        Form::Json => log.json().try_init(),
    };
}

fn ours(level: &str) -> String {
    let crates = [
        "dcm_cli",
        "dcm_core",
        "dcm_identity",
        "dcm_kube",
        "dcm_rest",
        "dcm_server",
        "dcm_store",
        "dcm_sync",
    ];
    let ours: Vec<String> = crates.iter().map(|one| format!("{one}={level}")).collect();
    format!("warn,{}", ours.join(","))
}
