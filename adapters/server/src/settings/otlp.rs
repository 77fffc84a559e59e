//! Where spans are sent, as it is set.

use std::path::PathBuf;

use dcm_core::refusal::{Checks, Path};
use hyper::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host;

/// Where a collector takes traces, below its endpoint.
const TRACES: &str = "/v1/traces";

/// What an endpoint must be.
const FORM: &str = "must be a URL such as http://127.0.0.1:4318, without user, query and fragment";

/// What the scheme of an endpoint must be: somebody on the way could read what is sent there.
const SCHEME: &str =
    "must begin with https://, or, for a loopback address, with http://; for any other set otlp.insecure";

/// Where spans are sent: a collector of OpenTelemetry. Headers, which may be secret, are in the environment variable
/// OTEL_EXPORTER_OTLP_HEADERS alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OtlpSettings {
    /// URL of a collector that takes OTLP over HTTP (protobuf), such as http://127.0.0.1:4318; traces are sent to /v1/traces below
    /// it. https, or http for a loopback address. Default: none, and no span is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Whether spans and headers may be sent over plain http to other machines, where whoever is on the way can read them.
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// PEM file of the authorities of the collector's certificate. Read once, at the start. Default: those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
}

/// A collector of spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    /// Where it takes traces.
    pub traces: Uri,
    /// PEM file of the authorities of its certificate, if they are not those of the system.
    pub authorities: Option<PathBuf>,
}

impl OtlpSettings {
    /// These, and what is not set in them as it is in others.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            endpoint: self.endpoint.or(below.endpoint),
            insecure: self.insecure.or(below.insecure),
            authorities: self.authorities.or(below.authorities),
        }
    }

    /// The collector, if there is one, and what breaks a rule.
    pub(super) fn read(self, path: &Path, checks: &mut Checks) -> Option<Collector> {
        let endpoint = self.endpoint?;
        match traces(&endpoint, self.insecure.unwrap_or(false)) {
            Ok(traces) => Some(Collector { traces, authorities: self.authorities }),
            Err(rule) => {
                // What has not its form may have a password.
                let shown = if rule == SCHEME { &*endpoint } else { "" };
                checks.refuse(&path.field("endpoint"), shown, rule);
                None
            }
        }
    }
}

/// Where traces are sent, by the endpoint.
fn traces(endpoint: &str, is_insecure_allowed: bool) -> Result<Uri, &'static str> {
    // A fragment is dropped when a URL is read.
    if endpoint.contains(['@', '?', '#']) {
        return Err(FORM);
    }
    let whole = format!("{}{TRACES}", endpoint.trim_end_matches('/'));
    let uri: Uri = whole.parse().map_err(|_| FORM)?;
    let authority = uri.authority().filter(|authority| !authority.host().is_empty()).ok_or(FORM)?;
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_insecure_allowed || host::is_of_this_machine(authority) => Ok(uri),
        Some("http") => Err(SCHEME),
        _ => Err(FORM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sent_where_nobody_can_listen_in_unless_it_is_allowed() {
        let table = [
            ("http://127.0.0.1:4318", Ok("http://127.0.0.1:4318/v1/traces")),
            ("http://[::1]:4318/", Ok("http://[::1]:4318/v1/traces")),
            ("http://localhost/otlp", Ok("http://localhost/otlp/v1/traces")),
            ("https://traces.example.com/otlp/", Ok("https://traces.example.com/otlp/v1/traces")),
            ("http://traces.example.com:4318", Err(SCHEME)),
            ("http://127.0.0.1.example.com", Err(SCHEME)),
            ("https://ann:hunter2@traces.example.com", Err(FORM)),
            ("https://traces.example.com?key=hunter2", Err(FORM)),
            ("https://traces.example.com#a", Err(FORM)),
            ("grpc://127.0.0.1:4317", Err(FORM)),
            ("127.0.0.1:4318", Err(FORM)),
            ("http://", Err(FORM)),
            ("", Err(FORM)),
        ];
        for (endpoint, expected) in table {
            assert_eq!(traces(endpoint, false).map(|uri| uri.to_string()), expected.map(str::to_owned));
        }
        let allowed = traces("http://traces.example.com:4318", true).unwrap();
        assert_eq!(allowed, "http://traces.example.com:4318/v1/traces");
    }
}
