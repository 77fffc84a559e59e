//! Asks an API server over HTTPS whether it is ready: one GET, of which only the status code counts.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::certificates::Identity;

/// One question may take this long; a server that has just been started can hold on to a connection for seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Enough for `HTTP/1.1 200`.
const STATUS_BYTES: usize = 12;

/// Why the state of a server could not be asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The certificates could not be read.
    #[error("the certificates can't be used")]
    Certificates(#[from] pem::Error),
    /// The certificates do not make a TLS configuration.
    #[error("the certificates make no TLS client")]
    Configuration(#[from] rustls::Error),
    /// The server did not answer.
    #[error("no answer from {address}")]
    Exchange {
        /// The address of the server.
        address: SocketAddr,
        /// What the network said.
        source: io::Error,
    },
    /// The server did not answer in time.
    #[error("no answer from {address} within {} s", ANSWER_TIMEOUT.as_secs())]
    Silent {
        /// The address of the server.
        address: SocketAddr,
    },
    /// The server's answer is no HTTP answer.
    #[error("the answer from {address} is not HTTP")]
    NotHttp {
        /// The address of the server.
        address: SocketAddr,
    },
}

impl Error {
    /// Whether the same question can be answered later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Exchange { .. } | Self::Silent { .. })
    }
}

/// A client that asks one server, as one identity.
#[derive(Clone)]
pub(crate) struct Probe {
    address: SocketAddr,
    connector: TlsConnector,
}

impl Probe {
    pub(crate) fn new(address: SocketAddr, authority: &str, identity: &Identity) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let certificate = CertificateDer::from_pem_slice(identity.certificate().as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(identity.key().as_bytes())?;
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate], key)?;
        Ok(Self { address, connector: TlsConnector::from(Arc::new(config)) })
    }

    /// The status code of the answer to a GET.
    pub(crate) async fn status(&self, path: &str) -> Result<u16, Error> {
        let address = self.address;
        let exchange = tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(path)).await;
        let answer = exchange
            .map_err(|_| Error::Silent { address })?
            .map_err(|source| Error::Exchange { address, source })?;
        status_code(&answer).ok_or(Error::NotHttp { address })
    }

    async fn exchange(&self, path: &str) -> io::Result<[u8; STATUS_BYTES]> {
        let stream = TcpStream::connect(self.address).await?;
        let mut stream = self.connector.connect(ServerName::from(self.address.ip()), stream).await?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: testenv-probe\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = [0; STATUS_BYTES];
        stream.read_exact(&mut answer).await?;
        Ok(answer)
    }
}

fn status_code(answer: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(answer).ok()?;
    text.strip_prefix("HTTP/1.1 ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_code_is_read_from_the_first_line() {
        assert_eq!(status_code(b"HTTP/1.1 200"), Some(200));
        assert_eq!(status_code(b"SSH-2.0-abcd"), None);
    }
}
