//! Waits until a server is ready, has ended, or has had its time.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::Error;
use crate::probe::Probe;
use crate::process::{Server, log_tail};

/// Between two questions.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// When the waiting ends, and how long that was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    allowed: Duration,
}

impl Deadline {
    pub(crate) fn after(allowed: Duration) -> Self {
        Self { at: Instant::now() + allowed, allowed }
    }
}

/// What a server does when it is ready.
#[derive(Clone, Copy)]
pub(crate) enum Sign<'a> {
    /// Its port is open.
    Listens(SocketAddr),
    /// It answers a GET of this path with 200.
    Answers(&'a Probe, &'static str),
}

impl Sign<'_> {
    /// Looks for the sign; says what there is instead.
    async fn look(self) -> Result<(), String> {
        match self {
            Self::Listens(address) => {
                TcpStream::connect(address).await.map(drop).map_err(|error| error.to_string())
            }
            Self::Answers(probe, path) => match probe.status(path).await {
                Ok(200) => Ok(()),
                Ok(code) => Err(format!("{code} to {path}")),
                Err(error) => Err(words(&error)),
            },
        }
    }
}

/// Waits for a sign of a server.
pub(crate) async fn wait(
    sign: Sign<'_>,
    name: &str,
    server: &Mutex<Server>,
    deadline: Deadline,
) -> Result<(), Error> {
    loop {
        // First whether it still runs: a stranger may answer on its port.
        lock(server).check().map_err(|source| Error::Process { server: name.to_owned(), source })?;
        let Err(last_answer) = sign.look().await else {
            return Ok(());
        };
        if Instant::now() >= deadline.at {
            let log = lock(server).log().to_owned();
            let (server, waited, tail) = (name.to_owned(), deadline.allowed, log_tail(&log));
            return Err(Error::NotReady { server, waited, last_answer, log, tail });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// A server whose lock was poisoned is still the same process.
pub(crate) fn lock(server: &Mutex<Server>) -> MutexGuard<'_, Server> {
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with its causes, in one line.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
