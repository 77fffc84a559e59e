//! Figures of a server for Prometheus: told where the API is asked, and over HTTP on a loopback address of their own.
//!
//! There is neither TLS nor a check of who asks at the latter, so other addresses are refused: whoever collects from elsewhere asks
//! the API, or puts a proxy before it that has both, and that asks here by a name of this machine (`host`).

mod answers;
#[cfg(test)]
mod page_tests;
mod stores;
mod text;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dcm_rest::{Answered, METRICS_TYPE, Metrics};
use dcm_sync::engine::{self, Engine};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::deployment::Deployment;
use crate::host;
use crate::listening::LoopbackListener;
pub(crate) use answers::{Answers, Dialect};
pub(crate) use stores::CountedStores;
pub(crate) use text::DaysLeft;

/// Connections at once; a further one waits.
const CONNECTIONS_MAX: usize = 16;

/// How long a connection may take for one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the head of a request may take: who asks from this machine sends it at once.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest head of a request, in bytes: who asks for metrics says little.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// How long to wait when no connection can be taken, such as for want of files.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// How many credentials end when, as the last round of renewal saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends(Arc<Mutex<DaysLeft>>);

impl Ends {
    pub(crate) fn set(&self, ends: impl Iterator<Item = Timestamp>, now: Timestamp) {
        let counted = DaysLeft::count(ends, now);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counted;
    }

    fn get(&self) -> DaysLeft {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What is told from.
#[derive(Clone)]
pub(crate) struct Source {
    /// None where no worker runs.
    pub(crate) engine: Option<Engine>,
    pub(crate) ends: Ends,
    pub(crate) stores: CountedStores,
    pub(crate) answers: Answers,
}

/// The same where the API is asked in one of its dialects.
pub(crate) struct Figures {
    pub(crate) source: Source,
    pub(crate) dialect: Dialect,
}

#[async_trait]
impl Metrics for Figures {
    async fn told(&self) -> Option<String> {
        self.source.told().await
    }

    fn answered(&self, answer: &Answered<'_>) {
        self.source.answers.count(self.dialect, answer);
    }
}

impl Source {
    async fn told(&self) -> Option<String> {
        let metrics = match &self.engine {
            Some(engine) => engine.metrics().await?,
            None => engine::metrics::Metrics::default(),
        };
        match text::render(metrics, self.ends.get(), self.stores.asked(), self.answers.get()) {
            Ok(text) => Some(text),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "metrics can't be written");
                None
            }
        }
    }
}

/// Answers at an address, until it is dropped.
pub(crate) async fn answer(deployment: Deployment, listener: LoopbackListener, source: Source) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.listener.accept().await {
            Ok((stream, _)) => {
                let (source, timeout) = (source.clone(), deployment.clock().sleep(CONNECTION_TIMEOUT));
                tokio::spawn(async move {
                    futures::future::select(Box::pin(connection(stream, source)), timeout).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection for metrics could not be taken");
                deployment.clock().sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One request: connections are not kept, so that none holds a place.
async fn connection(stream: TcpStream, source: Source) {
    let service = service_fn(move |request| {
        let source = source.clone();
        async move { Ok::<_, Infallible>(respond(&request, &source).await) }
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection for metrics broke off");
    }
}

async fn respond(request: &Request<Incoming>, source: &Source) -> Response<Full<Bytes>> {
    let short = |status: StatusCode| {
        let mut response = Response::new(Full::from(format!("{status}\n")));
        *response.status_mut() = status;
        response
    };
    if let Some(refusal) = host::refusal(request) {
        return short(refusal.status());
    }
    if request.uri().path() != "/metrics" {
        return short(StatusCode::NOT_FOUND);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = short(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let Some(told) = source.told().await else { return short(StatusCode::SERVICE_UNAVAILABLE) };
    let mut response = Response::new(Full::from(told));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE));
    response
}
