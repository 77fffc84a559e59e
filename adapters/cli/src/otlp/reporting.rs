//! What is told of spans that could not be sent.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::time::Instant;

/// Least time between two lines of the log: a collector that is away would fill it otherwise.
const REPORT_INTERVAL: Duration = Duration::from_secs(600);

/// An exporter whose failures are told, and seldom.
#[derive(Debug)]
pub(super) struct Reporting<E> {
    exporter: E,
    lost: Mutex<Lost>,
}

impl<E> Reporting<E> {
    pub(super) fn of(exporter: E) -> Self {
        Self { exporter, lost: Mutex::default() }
    }
}

impl<E: SpanExporter> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.exporter.export(batch).await;
        if let Err(error) = &sent {
            let told = self.lost.lock().unwrap_or_else(PoisonError::into_inner).add(spans, Instant::now());
            if let Some(spans) = told {
                tracing::warn!(%error, spans, "spans can't be sent to the collector, and are lost");
            }
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

/// What was lost and not told yet.
#[derive(Debug, Default)]
struct Lost {
    spans: usize,
    told: Option<Instant>,
}

impl Lost {
    /// How many are to be told of now, if it is time to.
    fn add(&mut self, spans: usize, now: Instant) -> Option<usize> {
        self.spans = self.spans.saturating_add(spans);
        if self.told.is_some_and(|told| now.duration_since(told) < REPORT_INTERVAL) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.spans))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_told_seldom_and_counted_meanwhile() {
        let (mut lost, begun) = (Lost::default(), Instant::now());
        assert_eq!(lost.add(3, begun), Some(3));
        assert_eq!(lost.add(4, begun + REPORT_INTERVAL / 2), None);
        assert_eq!(lost.add(5, begun + REPORT_INTERVAL), Some(9));
        assert_eq!(lost.add(6, begun + REPORT_INTERVAL), None);
    }
}
