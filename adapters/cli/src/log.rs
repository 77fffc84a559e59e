//! What is logged, on standard error.

use tracing_subscriber::EnvFilter;

/// Begins to log: warnings, or more for each `-v`. The variable `DCM_LOG` says it in full, such as `dcm_sync=debug`.
pub(crate) fn begin(verbose: u8) {
    let level = match verbose {
        0 => "error",
        1 => "dcm_server=info,dcm_sync=info,warn",
        2 => "dcm_server=debug,dcm_sync=debug,dcm_kube=debug,info",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("DCM_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // There is one already only where the command runs inside a test.
    let _ = log.try_init();
}
