//! A TLS server that tells its clients who they are, and clients of it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use dcm_identity::Authenticator;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::authority::{Authority, Issued};

/// Serves as long as the runtime of the test. Each client hears who it is.
pub(crate) async fn serve(
    config: Arc<ServerConfig>,
    authenticator: Option<Arc<Authenticator>>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, authenticator) = (TlsAcceptor::from(Arc::clone(&config)), authenticator.clone());
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                let who = match (shown, authenticator) {
                    (Some(certificate), Some(authenticator)) => {
                        match authenticator.certificate(certificate) {
                            Ok(identity) => format!("{} {:?}", identity.user(), identity.groups()),
                            Err(refused) => format!("refused: {refused}"),
                        }
                    }
                    _ => "nobody".to_owned(),
                };
                stream.write_all(who.as_bytes()).await?;
                stream.shutdown().await
            });
        }
    });
    address
}

/// A client's way to a server.
pub(crate) struct Client {
    pub(crate) roots: RootCertStore,
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
    pub(crate) protocols: Vec<Vec<u8>>,
}

/// What a client hears, and how.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) version: rustls::ProtocolVersion,
    pub(crate) protocol: Option<Vec<u8>>,
    pub(crate) certificate: CertificateDer<'static>,
}

impl Client {
    pub(crate) fn of(authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der()).unwrap();
        Self { roots, versions: rustls::ALL_VERSIONS.to_vec(), protocols: Vec::new() }
    }

    pub(crate) async fn connect(&self, address: SocketAddr, shown: Option<&Issued>) -> io::Result<Heard> {
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let mut config = match shown.map(Issued::der) {
            Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).unwrap(),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols.clone_from(&self.protocols);
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        let mut text = String::new();
        // With TLS 1.3 a client that is refused hears of it here.
        stream.read_to_string(&mut text).await?;
        let connection = stream.get_ref().1;
        Ok(Heard {
            text,
            version: connection.protocol_version().unwrap(),
            protocol: connection.alpn_protocol().map(<[u8]>::to_vec),
            certificate: connection.peer_certificates().unwrap()[0].clone().into_owned(),
        })
    }
}
