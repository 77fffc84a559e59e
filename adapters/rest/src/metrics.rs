//! The figures of a server.

use std::time::Duration;

use async_trait::async_trait;

/// What the figures are written in: OpenMetrics, which Prometheus reads.
pub const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The figures of a server. Whoever runs it knows them, and keeps count of what this API answers.
#[async_trait]
pub trait Metrics: Send + Sync + 'static {
    /// All of them, as [`METRICS_TYPE`]; none where they can't be told, such as when its worker has ended. The log says why.
    async fn told(&self) -> Option<String>;

    /// Counts a request that is being answered. Called for each of them, so it must be quick.
    fn answered(&self, answer: &Answered<'_>);
}

/// A request that is being answered, as it is counted. There are few values of each of these, whatever callers send; but for the time.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Answered<'a> {
    /// The method; `_OTHER` for one that HTTP does not define.
    pub method: &'static str,
    /// The template of the path, such as `/v2/projects/{project}`; none where there is no such path.
    pub route: Option<&'a str>,
    /// The status of the answer.
    pub status: u16,
    /// How long it took until the answer began.
    pub took: Duration,
}
