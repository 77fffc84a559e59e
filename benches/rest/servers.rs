//! The servers that are asked, each in a process of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::get;
use dcm_benches::child;
use dcm_server::{Access, ApiListener, Configuration, Deployment, Listeners, serve_at};
use hyper_util::rt::TokioTimer;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin};

use super::BENCH;

/// As long as the API waits for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// What a child process serves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Served {
    /// A handler that takes what is sent and answers nothing.
    Nothing,
    /// The API, on a store, with a file of keys.
    Api { store: String, keys: String },
}

/// A server; it ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
    /// Closed, it ends the child also when this process is killed.
    _input: ChildStdin,
}

impl Server {
    pub(crate) async fn start(served: &Served) -> Result<Self> {
        let mut command = child::command(BENCH, served)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("its input is a pipe")?;
        let output = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        let address = output.lines().next_line().await?.context("a server says where it is")?;
        Ok(Self { address: address.parse()?, child, _input: input })
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> Result<u32> {
        self.child.id().context("it has ended")
    }
}

/// Serves what is ordered until its input ends.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub(crate) async fn child(order: &str) -> Result<()> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let stop = async {
        // Nothing is ever written.
        let _ = tokio::io::stdin().read_u8().await;
    };
    match serde_json::from_str(order)? {
        Served::Nothing => {
            let listener = tokio::net::TcpListener::bind(any).await?;
            println!("{}", listener.local_addr()?);
            tokio::select! {
                served = serve_nothing(listener) => served,
                () = stop => Ok(()),
            }
        }
        Served::Api { store, keys } => {
            let deployment = Deployment::open(&Configuration::new(&*store, &*keys)).await?;
            let api = ApiListener::bind(any.into(), &Access::default()).await?;
            println!("{}", api.address());
            let listeners = Listeners { api: Some(api), ..Listeners::default() };
            Ok(serve_at(&deployment, listeners, stop).await?)
        }
    }
}

/// Serves as the API is served, with no layer around the handler.
async fn serve_nothing(listener: tokio::net::TcpListener) -> Result<()> {
    let router = Router::new().route("/", get(|| async {}).post(async |_: Bytes| StatusCode::CREATED));
    let mut server = axum_server::Server::<SocketAddr>::from_listener(listener)
        .http1_only()
        .first_request_timeout(HEAD_TIMEOUT);
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    Ok(server.serve(router.into_make_service()).await?)
}
