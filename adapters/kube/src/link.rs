//! One connection to a server of a cluster, over HTTP/2 or HTTP/1.1.

use std::time::Duration;

use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::Connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt as _};

use crate::identity::Asked;

/// How much of one answer may come before it is read, where all requests share a connection.
const STREAM_BYTES: u32 = 256 * 1024;

/// How much of all answers together: more than those under way may have. With less, large answers that wait for their turn
/// would be in the way of all others, and of those whose turn it is.
const CONNECTION_BYTES: u32 = 32 * 1024 * 1024;

/// A connection, and whether its server was asked which cluster it is.
pub(crate) struct Link {
    sender: Sender,
    pub(crate) asked: Asked,
}

enum Sender {
    /// For one request at a time.
    Http1(http1::SendRequest<Body>),
    /// For many at a time.
    Http2(http2::SendRequest<Body>),
}

/// A request that brought no answer.
pub(crate) struct Unanswered {
    /// The request, where nothing of it was sent. Boxed: it is large.
    pub(crate) unsent: Option<Box<Request<Body>>>,
    pub(crate) error: hyper::Error,
}

/// Connects to a server, by a connector that is used for this alone.
pub(crate) async fn connect<C>(connector: C, server: Uri, silence_limit: Duration) -> Result<Link, BoxError>
where
    C: Service<Uri>,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
{
    let stream = connector.oneshot(server).await.map_err(Into::into)?;
    let sender = if stream.connected().is_negotiated_h2() {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_BYTES)
            .initial_connection_window_size(CONNECTION_BYTES)
            .keep_alive_interval(silence_limit)
            .keep_alive_timeout(silence_limit);
        let (mut sender, connection) = builder.handshake(stream).await?;
        tokio::spawn(connection);
        sender.ready().await?;
        Sender::Http2(sender)
    } else {
        let (mut sender, connection) = http1::handshake(stream).await?;
        tokio::spawn(connection);
        sender.ready().await?;
        Sender::Http1(sender)
    };
    Ok(Link { sender, asked: Asked::default() })
}

impl Link {
    /// The same connection for another request at the same time; none over HTTP/1.1.
    pub(crate) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => {
                Some(Self { sender: Sender::Http2(sender.clone()), asked: self.asked.clone() })
            }
        }
    }

    /// True when a request can be sent now.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender) => sender.is_ready(),
        }
    }

    /// Waits until a request can be sent: over HTTP/1.1 until the answer before it was read.
    pub(crate) async fn ready(&mut self) -> Result<(), hyper::Error> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender) => sender.ready().await,
        }
    }

    /// Sends a request, and takes the head of its answer.
    pub(crate) async fn send(&mut self, request: Request<Body>) -> Result<Response<Incoming>, Unanswered> {
        if let Err(error) = self.ready().await {
            return Err(Unanswered { unsent: Some(Box::new(request)), error });
        }
        let uri = request.uri().clone();
        let sent = match &mut self.sender {
            Sender::Http1(sender) => sender.try_send_request(of_http1(request)).await,
            Sender::Http2(sender) => sender.try_send_request(request).await,
        };
        sent.map_err(|mut failed| {
            let unsent = failed.take_message().map(|mut request| {
                *request.uri_mut() = uri;
                Box::new(request)
            });
            Unanswered { unsent, error: failed.into_error() }
        })
    }
}

/// Writes the host into a header, and leaves the path alone in the URI.
fn of_http1(mut request: Request<Body>) -> Request<Body> {
    if let Some(host) = host(request.uri()) {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    request
}

/// The host, and its port where it is not the usual one.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let text = match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_http_1_the_host_is_a_header_and_the_uri_a_path() {
        for (uri, expected, path) in [
            ("https://c:6443/api/v1?a=b", "c:6443", "/api/v1?a=b"),
            ("https://c:443/api", "c", "/api"),
            ("http://c:443/api", "c:443", "/api"),
            ("http://[::1]:80", "[::1]", "/"),
            ("https://c", "c", "/"),
        ] {
            let request = of_http1(Request::get(uri).body(Body::empty()).unwrap());
            assert_eq!(
                (request.headers()[HOST].to_str().unwrap(), request.uri().to_string()),
                (expected, path.to_owned())
            );
        }
    }
}
