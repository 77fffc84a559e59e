//! Asking over many connections at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::requests::Kind;

/// How many connections ask at once.
pub(crate) const CONNECTIONS: usize = 64;

/// What was measured.
pub(crate) struct Load {
    pub(crate) seconds: f64,
    /// How long each request took, in milliseconds, sorted.
    pub(crate) milliseconds: Vec<f32>,
}

impl Load {
    pub(crate) fn per_second(&self) -> f64 {
        self.milliseconds.len() as f64 / self.seconds
    }

    /// As long at most took 99 of 100 requests.
    pub(crate) fn p99_ms(&self) -> f64 {
        let place = self.milliseconds.len() * 99 / 100;
        self.milliseconds.get(place).copied().map_or(f64::NAN, f64::from)
    }
}

/// Until when is asked.
#[derive(Clone)]
pub(crate) enum Until {
    /// For so long.
    Elapsed(Duration),
    /// So many requests are sent.
    Sent(u64),
}

/// Asks a server.
pub(crate) async fn run(address: SocketAddr, kind: Kind, until: Until) -> Result<Load> {
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(address).await?);
    }
    let (sent, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut asking = JoinSet::new();
    for connection in connections {
        asking.spawn(ask(connection, kind, until.clone(), sent.clone(), began));
    }
    let mut milliseconds = Vec::new();
    while let Some(asked) = asking.join_next().await {
        milliseconds.extend(asked??);
    }
    let seconds = began.elapsed().as_secs_f64();
    milliseconds.sort_by(f32::total_cmp);
    Ok(Load { seconds, milliseconds })
}

async fn ask(
    mut connection: Connection,
    kind: Kind,
    until: Until,
    sent: Arc<AtomicU64>,
    began: Instant,
) -> Result<Vec<f32>> {
    let mut milliseconds = Vec::new();
    let goes_on = || match until {
        Until::Elapsed(time) => began.elapsed() < time,
        Until::Sent(number) => sent.fetch_add(1, Ordering::Relaxed) < number,
    };
    while goes_on() {
        let request = kind.next();
        let asked = Instant::now();
        let status = connection.ask(request.as_bytes()).await?;
        milliseconds.push(asked.elapsed().as_secs_f32() * 1000.0);
        ensure!((200..300).contains(&status), "{kind:?} is answered with {status}");
    }
    Ok(milliseconds)
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new() })
    }

    /// Asks, reads the whole answer, and gives its status.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.write_all(request).await?;
        self.read.clear();
        let (status, length) = loop {
            ensure!(self.stream.read_buf(&mut self.read).await? > 0, "the connection was closed");
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = std::str::from_utf8(&self.read[..end])?;
                let status = head.get(9..12).context("a status")?.parse()?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                break (status, end + 4 + length.context("a length")?.parse::<usize>()?);
            }
        };
        while self.read.len() < length {
            ensure!(self.stream.read_buf(&mut self.read).await? > 0, "the connection was closed");
        }
        Ok(status)
    }
}
