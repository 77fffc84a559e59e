//! How a server is connected to: over TCP, with TLS where its URL asks for it, or at a Unix socket.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;

use crate::server_url::ServerUrl;

/// Longest time for a TCP connection to a server.
pub const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(10);

/// Sends requests to one server. Clones share its connections.
#[derive(Debug, Clone)]
pub(crate) enum Transport {
    Tcp(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
    #[cfg(unix)]
    Socket(Client<socket::Connector, Full<Bytes>>),
}

impl Transport {
    pub(crate) fn new(server: &ServerUrl, tls: ClientConfig) -> Self {
        let client = Client::builder(TokioExecutor::new());
        #[cfg(unix)]
        if let Some(path) = server.socket() {
            return Self::Socket(client.build(socket::Connector::new(path)));
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME_LIMIT));
        // Which of the two is spoken was decided by the rules for URLs.
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        Self::Tcp(client.build(connector.wrap_connector(tcp)))
    }

    pub(crate) fn request(&self, request: Request<Full<Bytes>>) -> ResponseFuture {
        match self {
            Self::Tcp(client) => client.request(request),
            #[cfg(unix)]
            Self::Socket(client) => client.request(request),
        }
    }
}

#[cfg(unix)]
mod socket {
    use std::io;
    use std::path::Path;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use futures::future::{BoxFuture, FutureExt as _};
    use http::Uri;
    use hyper_util::rt::TokioIo;
    use tokio::net::UnixStream;
    use tower::Service;

    /// Connects to one socket, whatever host a request names.
    #[derive(Debug, Clone)]
    pub(crate) struct Connector(Arc<Path>);

    impl Connector {
        pub(super) fn new(path: &Path) -> Self {
            Self(path.into())
        }
    }

    impl Service<Uri> for Connector {
        type Response = TokioIo<UnixStream>;
        type Error = io::Error;
        type Future = BoxFuture<'static, io::Result<Self::Response>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Uri) -> Self::Future {
            let path = self.0.clone();
            async move { UnixStream::connect(&*path).await.map(TokioIo::new) }.boxed()
        }
    }
}
