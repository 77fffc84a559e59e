//! The figures of a server.

use async_trait::async_trait;

/// What the figures are written in: OpenMetrics, which Prometheus reads.
pub const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The figures of a server. Whoever runs it knows them.
#[async_trait]
pub trait Metrics: Send + Sync + 'static {
    /// All of them, as [`METRICS_TYPE`]; none where they can't be told, such as when its worker has ended. The log says why.
    async fn told(&self) -> Option<String>;
}
