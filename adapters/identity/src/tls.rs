//! TLS for a server: which certificate it shows, and what it asks of its clients. And for a client: whom it trusts.
//!
//! Only TLS 1.2 and 1.3 are spoken. The certificate and its key are read again while the server runs, at most once a second and
//! when somebody connects: a renewed pair is shown without a restart. A pair that can't be used leaves the one before, and is
//! logged. The two files are read one after the other, so a pair that is half replaced does not fit, and is left alone until it
//! is whole. The authorities of clients are read once, when the server starts.
//!
//! # The key's file
//! One that others than its owner and its group may read, write or run is refused: on a machine with several users it is as good as
//! published. The group may: mounted secrets of Kubernetes belong to `root`, and a server that does not run as that user reads them
//! by its group (`fsGroup`), with mode 0440. The mode there is 0644 unless it is asked for: `defaultMode: 0440`.

mod files;
mod resolver;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dcm_core::port::clock::Clock;
use hyper_rustls::ConfigBuilderExt as _;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::files::{Error, authorities};
use self::resolver::Resolver;

/// What is spoken. Older versions are broken, and clients that know none of these have seen no update for ten years.
const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// The name of HTTP/1.1 in a handshake (ALPN).
pub const HTTP_1: &str = "http/1.1";

/// Who a server is: its certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Files {
    /// PEM file of the server's certificate, with those between it and its authority after it. Read again when it changes.
    pub certificate: PathBuf,
    /// PEM file of the certificate's key (PKCS #8, PKCS #1 or SEC 1), not encrypted. Others than its owner and its group must have no
    /// right to it (mode 0600 or 0640). Read again when it changes.
    pub key: PathBuf,
}

/// What is asked of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clients {
    /// No certificate.
    NotAsked,
    /// A certificate, if they have one of an authority in this PEM file: there are other ways to prove who they are. One that is
    /// shown and can't be verified ends the handshake all the same.
    Asked(PathBuf),
    /// A certificate of an authority in this PEM file: there is no other way.
    Required(PathBuf),
}

/// Makes the configuration of a TLS server.
///
/// `protocols` are those that are spoken inside (ALPN), the best first: [`HTTP_1`].
///
/// # Errors
/// Files that are missing, unreadable, open to others, or do not fit together.
pub fn server(
    files: &Files,
    clients: &Clients,
    protocols: &[&str],
    clock: Arc<dyn Clock>,
) -> Result<Arc<ServerConfig>, Error> {
    let verifier = verifier(clients)?;
    let resolver = Resolver::open(files.clone(), clock)?;
    let mut config = ServerConfig::builder_with_provider(dcm_tls::provider())
        .with_protocol_versions(&VERSIONS)
        .map_err(Error::Configure)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(Arc::new(config))
}

fn verifier(clients: &Clients) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let (file, is_required) = match clients {
        Clients::NotAsked => return Ok(WebPkiClientVerifier::no_client_auth()),
        Clients::Asked(file) => (file, false),
        Clients::Required(file) => (file, true),
    };
    let verifier = dcm_tls::client_verifier(roots(file)?, is_required);
    verifier.map_err(|source| Error::Verifier { file: file.clone(), source })
}

fn roots(file: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities(file)? {
        roots.add(authority).map_err(|source| Error::Authority { file: file.to_owned(), source })?;
    }
    Ok(roots)
}

/// Makes the configuration of a TLS client that shows no certificate.
///
/// Whoever it connects to has a certificate of an authority in this PEM file, which is read once; or, with none, of one that the
/// system trusts.
///
/// # Errors
/// A file that is missing or unreadable, or a system without authorities.
pub fn client(authorities: Option<&Path>) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(dcm_tls::provider())
        .with_protocol_versions(&VERSIONS)
        .map_err(Error::Configure)?;
    let builder = match authorities {
        Some(file) => {
            let verifier = dcm_tls::server_verifier(roots(file)?);
            let verifier = verifier.map_err(|source| Error::Verifier { file: file.to_owned(), source })?;
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
        None => builder.with_native_roots().map_err(Error::NoSystemAuthorities)?,
    };
    Ok(builder.with_no_client_auth())
}
