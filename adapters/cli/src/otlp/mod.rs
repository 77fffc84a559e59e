//! Spans of a server, sent to a collector of OpenTelemetry (OTLP over HTTP, protobuf).
//!
//! Only spans of our own crates are sent, of the level `info` and above, and nothing that is logged in them: the same rule as
//! that of the log. They hold names and numbers alone.
//!
//! A collector that is away or slow is waited for by nobody but a thread of its own: what finds no room in a bounded queue is
//! dropped, and so is what can't be sent. All of it is in the feature `otlp`; without it a server that is told a collector
//! refuses to start.

#[cfg(any(not(feature = "otlp"), test))]
mod absent;
#[cfg(feature = "otlp")]
mod client;
#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod layer;
#[cfg(feature = "otlp")]
mod reporting;
#[cfg(feature = "otlp")]
mod resource;

use std::path::PathBuf;
use std::str::FromStr as _;

use dcm_server::OtlpSettings;
use tracing_subscriber::{Layer, Registry};

#[cfg(not(feature = "otlp"))]
pub(crate) use absent::Export;
#[cfg(feature = "otlp")]
pub(crate) use export::Export;

/// What gets the spans that are sent.
type Exporting = Box<dyn Layer<Registry> + Send + Sync>;

/// The variables are those of OpenTelemetry. A further one, OTEL_EXPORTER_OTLP_HEADERS, may be secret: it is no option.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Traces (feature otlp)")]
pub(crate) struct Sent {
    /// Sends spans to the collector of OpenTelemetry at URL, such as http://127.0.0.1:4318: OTLP over HTTP, to /v1/traces below
    /// it. https, or http for a loopback address. Headers for it are in the environment: OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// Whether spans and headers may be sent over plain http to other machines. Default: false.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_INSECURE",
        value_parser = is_true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    otlp_insecure: Option<bool>,
    /// The authorities of the collector's certificate, PEM. Default: those of the system.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_CERTIFICATE", value_parser = PathBuf::from_str, value_name = "FILE")]
    otlp_authorities: Option<PathBuf>,
}

impl Sent {
    /// What is said of it, if anything is.
    pub(crate) fn said(&self) -> Option<OtlpSettings> {
        let said = OtlpSettings {
            // An empty variable is none, by the rules for these.
            endpoint: self.otlp_endpoint.clone().filter(|endpoint| !endpoint.is_empty()),
            insecure: self.otlp_insecure,
            authorities: self.otlp_authorities.clone().filter(|file| !file.as_os_str().is_empty()),
        };
        (said != OtlpSettings::default()).then_some(said)
    }
}

/// As the rules for these variables have it: in any case of letters, and an empty one is false.
fn is_true(text: &str) -> Result<bool, &'static str> {
    match &*text.to_ascii_lowercase() {
        "true" => Ok(true),
        "false" | "" => Ok(false),
        _ => Err("must be true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_true_allows_plain_http() {
        for text in ["true", "True", "TRUE"] {
            assert_eq!(is_true(text), Ok(true), "{text}");
        }
        for text in ["", "false", "False"] {
            assert_eq!(is_true(text), Ok(false), "{text}");
        }
        for text in ["1", "yes", " true"] {
            assert!(is_true(text).is_err(), "{text}");
        }
    }
}
