//! How a collector is asked.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use dcm_identity::tls;
use dcm_server::Collector;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

use super::export::{CONNECT_TIMEOUT, EXPORT_TIMEOUT};

/// A client on a runtime: who sends spans is a thread outside of any.
pub(super) struct Client {
    runtime: Handle,
    client: Arc<dyn HttpClient>,
}

impl Client {
    /// Must be called on a tokio runtime.
    pub(super) fn open(collector: &Collector) -> Result<Self, tls::Error> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        // Whether plain HTTP is spoken was decided by the rules for settings. It needs no authorities: a system may have none.
        let client: Arc<dyn HttpClient> = if collector.traces.scheme_str() == Some("http") {
            Arc::new(HyperClient::new(tcp, EXPORT_TIMEOUT, None))
        } else {
            tcp.enforce_http(false);
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(tls::client(collector.authorities.as_deref())?)
                .https_only()
                .enable_http1()
                .wrap_connector(tcp);
            Arc::new(HyperClient::new(connector, EXPORT_TIMEOUT, None))
        };
        Ok(Self { runtime: Handle::current(), client })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = Arc::clone(&self.client);
        self.runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}
