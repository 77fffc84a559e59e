//! Logs in as a browser and its client do: the authorization code flow, with PKCE.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// One answer may take this long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Where a client gets its codes.
const CALLBACK: &str = "http://127.0.0.1/callback";

/// Everything that an issuer tells of a user.
const SCOPES: &str = "openid profile email groups";

/// Random bytes that prove that whoever comes with a code is who asked for it.
const VERIFIER_BYTES: usize = 32;

/// Most pages between the first one and the client.
const REDIRECTS_MAX: usize = 5;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The threads that work in the background did not start.
    #[error("could not start the background threads of the issuer")]
    Runtime(#[source] io::Error),
    /// The authority of the issuer could not be read.
    #[error("the issuer's authority can't be read")]
    Authority(#[from] pem::Error),
    /// The authority makes no TLS client.
    #[error("the issuer's authority makes no TLS client")]
    Configuration(#[from] rustls::Error),
    /// No random bytes could be had.
    #[error("no random bytes for the login")]
    Random(#[source] getrandom::Error),
    /// The issuer did not answer.
    #[error("no answer from the issuer at {address}")]
    Exchange {
        /// Its address.
        address: SocketAddr,
        /// What the network said.
        source: io::Error,
    },
    /// The issuer did not let the user in, or the client.
    #[error("the issuer answered {path} with {answer}")]
    Refused {
        /// What was asked for.
        path: String,
        /// What it said.
        answer: String,
    },
}

impl Error {
    /// Whether the same login can succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Exchange { .. })
    }
}

/// One login.
pub(super) struct Login {
    address: SocketAddr,
    connector: TlsConnector,
    client: String,
    user: String,
    verifier: String,
}

/// The answer to a request.
struct Answer {
    head: String,
    body: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

impl Login {
    pub(super) fn new(
        address: SocketAddr,
        authority: &Path,
        client: &str,
        user: &str,
    ) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority)?)?;
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut verifier = [0; VERIFIER_BYTES];
        getrandom::fill(&mut verifier).map_err(Error::Random)?;
        let (client, user) = (client.to_owned(), user.to_owned());
        let verifier = URL_SAFE_NO_PAD.encode(verifier);
        Ok(Self { address, connector: TlsConnector::from(Arc::new(config)), client, user, verifier })
    }

    pub(super) async fn id_token(self) -> Result<String, Error> {
        let mut place = self.first_page();
        // To the login, which is none, and back to the client.
        for _ in 0..REDIRECTS_MAX {
            if place.starts_with(CALLBACK) {
                break;
            }
            let path = place.strip_prefix(&format!("https://{}", self.address)).unwrap_or(&place).to_owned();
            let answer = self.ask(&format!("GET {path}"), "").await?;
            place = answer.header("location").ok_or_else(|| answer.refusal(&path))?.to_owned();
        }
        let query = place.split_once('?').map_or("", |(_, query)| query);
        let code = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "code");
        let refused = || Error::Refused { path: "/authorize".to_owned(), answer: query.to_owned() };
        let (_, code) = code.ok_or_else(refused)?;
        let form = Serializer::new(String::new())
            .extend_pairs([("grant_type", "authorization_code"), ("redirect_uri", CALLBACK)])
            .extend_pairs([("code", &*code), ("client_id", &self.client), ("code_verifier", &self.verifier)])
            .finish();
        let path = "/oauth/token";
        let answer = self.ask(&format!("POST {path}"), &form).await?;
        let tokens = serde_json::from_str(&answer.body).map_err(|_| answer.refusal(path));
        tokens.map(|Tokens { id_token }| id_token)
    }

    fn first_page(&self) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let query = Serializer::new(String::new())
            .extend_pairs([("response_type", "code"), ("redirect_uri", CALLBACK), ("scope", SCOPES)])
            .extend_pairs([("client_id", &*self.client), ("login_hint", &self.user), ("state", "login")])
            .extend_pairs([("code_challenge", &*challenge), ("code_challenge_method", "S256")])
            .finish();
        format!("/authorize?{query}")
    }

    async fn ask(&self, line: &str, form: &str) -> Result<Answer, Error> {
        let address = self.address;
        let exchange = tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(line, form)).await;
        let text = exchange.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let text = text.map_err(|source| Error::Exchange { address, source })?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        Ok(Answer { head: head.to_owned(), body: body.to_owned() })
    }

    /// By HTTP/1.0: the answer ends with the connection, and is not in pieces.
    async fn exchange(&self, line: &str, form: &str) -> io::Result<String> {
        let stream = TcpStream::connect(self.address).await?;
        let mut stream = self.connector.connect(ServerName::from(self.address.ip()), stream).await?;
        let request = format!(
            "{line} HTTP/1.0\r\nHost: {}\r\nUser-Agent: testenv-login\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            self.address,
            form.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        match stream.read_to_string(&mut text).await {
            // Not every end is announced.
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(text),
        }
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn refusal(&self, path: &str) -> Error {
        let status = self.head.lines().next().unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default().to_owned();
        Error::Refused { path, answer: format!("{status}: {}", self.body.trim_end()) }
    }
}
