//! The way of spans: from a layer of the log into a queue, and from there to a collector.

use std::time::Duration;

use anyhow::Context as _;
use dcm_server::Collector;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{
    OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL_HTTP_PROTOBUF, Protocol, RetryPolicy,
    SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};

use super::client::Client;
use super::reporting::Reporting;
use super::resource::{self, SERVICE};
use super::{Exporting, layer};

/// Most spans that wait to be sent; further ones are dropped. The default of OpenTelemetry: a second of a busy server.
const QUEUE_SPANS_MAX: usize = 2048;

/// Most spans that are sent at once. As soon as there are so many they are sent.
const BATCH_SPANS_MAX: usize = 512;

/// How long a span waits for others to be sent with: a process that dies loses no more than this.
const EXPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Longest time of one try to send a batch. After it no further try begins.
pub(super) const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time for a connection to the collector.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a batch is tried again at most, where that may help. Then it is dropped.
const RETRIES_MAX: usize = 3;

/// Longest pause between two tries, unless the collector asks for a longer one.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long the end of a server may wait for its last spans to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Spans are sent, until it is ended.
pub(crate) struct Export {
    provider: SdkTracerProvider,
}

impl Export {
    /// Begins, if there is a collector. Must be called on a tokio runtime.
    pub(crate) fn begin(collector: Option<&Collector>) -> anyhow::Result<Option<Self>> {
        let Some(collector) = collector else { return Ok(None) };
        check_protocol(std::env::var(OTEL_EXPORTER_OTLP_PROTOCOL).ok().as_deref())?;
        let client = Client::open(collector).context("no span can be sent to otlp.endpoint")?;
        let retries =
            RetryPolicy::recommended().with_max_retries(RETRIES_MAX).with_max_delay(RETRY_PAUSE_MAX);
        // It takes headers from the environment.
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(collector.traces.to_string())
            .with_timeout(EXPORT_TIMEOUT)
            .with_retry_policy(retries)
            .build()
            .context("no span can be sent to otlp.endpoint")?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE_SPANS_MAX)
            .with_max_export_batch_size(BATCH_SPANS_MAX)
            .with_scheduled_delay(EXPORT_INTERVAL)
            .build();
        let processor =
            BatchSpanProcessor::builder(Reporting::of(exporter)).with_batch_config(batches).build();
        let resource = resource::of_this_process()?;
        let provider =
            SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource).build();
        Ok(Some(Self { provider }))
    }

    /// What gets the spans.
    pub(crate) fn layer(&self) -> Exporting {
        layer::over(self.provider.tracer(SERVICE))
    }

    /// Sends what is left, as far as there is time.
    pub(crate) async fn end(self) {
        // It blocks, and what it waits for runs here.
        let ended = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_TIMEOUT));
        if let Ok(Err(error)) = ended.await {
            tracing::warn!(%error, "the last spans may be lost");
        }
    }
}

/// Whoever wants another protocol is told so at once: their collector would understand nothing.
fn check_protocol(protocol: Option<&str>) -> anyhow::Result<()> {
    let protocol = protocol.filter(|protocol| !protocol.is_empty());
    anyhow::ensure!(
        protocol.is_none_or(|protocol| protocol == OTEL_EXPORTER_OTLP_PROTOCOL_HTTP_PROTOBUF),
        "{OTEL_EXPORTER_OTLP_PROTOCOL} must be {OTEL_EXPORTER_OTLP_PROTOCOL_HTTP_PROTOBUF}: no other protocol is spoken"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_protocol_is_refused() {
        for allowed in [None, Some(""), Some("http/protobuf")] {
            assert!(check_protocol(allowed).is_ok(), "{allowed:?}");
        }
        let refused = check_protocol(Some("grpc")).unwrap_err().to_string();
        assert_eq!(refused, "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf: no other protocol is spoken");
    }
}
