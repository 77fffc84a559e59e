//! What is told of spans that could not be sent.

use std::time::Duration;

use dcm_core::port::clock::Clock as _;
use dcm_core::tally::Tally;
use dcm_sync::runtime::TokioClock;
use jiff::SignedDuration;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Least time between two lines of the log: a collector that is away would fill it otherwise.
const REPORT_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// An exporter whose failures are told, and seldom.
#[derive(Debug)]
pub(super) struct Reporting<E> {
    exporter: E,
    clock: TokioClock,
    lost: Tally,
}

impl<E> Reporting<E> {
    /// Must be called on a tokio runtime.
    pub(super) fn of(exporter: E) -> Self {
        Self { exporter, clock: TokioClock::new(), lost: Tally::told_every(REPORT_INTERVAL) }
    }
}

impl<E: SpanExporter> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let sent = self.exporter.export(batch).await;
        if let Err(error) = &sent
            && let Some(spans) = self.lost.add(spans, self.clock.now())
        {
            tracing::warn!(%error, spans, "spans can't be sent to the collector, and are lost");
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
