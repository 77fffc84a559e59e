//! How many requests etcd itself says that it was sent.

use anyhow::{Context as _, Result};
use dcm_testenv::Standalone;
use dcm_testenv::etcd_http::metrics;

/// What counts: requests about keys that were begun. Watches are another service.
const COUNTER: &str = "grpc_server_started_total{";
const SERVICE: &str = "grpc_service=\"etcdserverpb.KV\"";

/// Requests about keys since the server was started.
pub(crate) fn requests(etcd: &Standalone) -> Result<u64> {
    sum(&metrics(etcd)?)
}

fn sum(metrics: &str) -> Result<u64> {
    let ours = metrics.lines().filter(|line| line.starts_with(COUNTER) && line.contains(SERVICE));
    let values = ours.map(|line| {
        let value = line.rsplit(' ').next().context("a counter has a value")?;
        value.parse().with_context(|| line.to_owned())
    });
    let values = values.collect::<Result<Vec<u64>>>()?;
    values.into_iter().reduce(|sum, value| sum + value).context("etcd says how many requests it was sent")
}
