//! How many requests etcd itself says that it was sent.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What counts: requests about keys that were begun. Watches are another service.
const COUNTER: &str = "grpc_server_started_total{";
const SERVICE: &str = "grpc_service=\"etcdserverpb.KV\"";

/// Requests about keys since the server was started.
pub(crate) async fn requests(etcd: SocketAddr) -> Result<u64> {
    let mut connection = TcpStream::connect(etcd).await?;
    connection.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    sum(&answer)
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
