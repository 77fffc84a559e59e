//! How a server is asked.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper_rustls::ConfigBuilderExt as _;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::{Credential, Options};
use crate::error::Error;
use crate::problem::Problem;
use crate::server_url::ServerUrl;
use crate::transport::Transport;

/// Largest answer, in bytes. For the status of a logical cloud on 10,000 clusters that is 6.7 kB for each.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long an answer may take at least for which clusters are asked: those that hang are waited for.
pub const LOOK_TIMEOUT: Duration = Duration::from_secs(900);

/// How often something is asked at most, where the server puts it off because this caller asks too often.
pub const TRIES_MAX: u32 = 6;

/// Longest wait before such a try.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Says why something is done, for the audit log.
const REASON: HeaderName = HeaderName::from_static("x-reason");

/// What a request is called in the audit log.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A server, and how it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    server: ServerUrl,
    transport: Transport,
    headers: HeaderMap,
    answer_timeout: Duration,
}

/// A request, before it is sent.
pub(crate) struct Asking<'a> {
    connection: &'a Connection,
    method: Method,
    target: String,
    body: Option<Bytes>,
    accept: &'static str,
    timeout: Duration,
}

impl Connection {
    pub(crate) fn open(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            server: options.server.clone(),
            transport: Transport::new(&options.server, tls(options)?),
            headers: headers(options)?,
            answer_timeout: options.answer_timeout,
        })
    }

    /// The server's URL.
    pub(crate) fn server(&self) -> &ServerUrl {
        &self.server
    }

    pub(crate) fn ask(&self, method: Method, target: String) -> Asking<'_> {
        let timeout = self.answer_timeout;
        Asking { connection: self, method, target, body: None, accept: "application/json", timeout }
    }

    pub(crate) fn silent(&self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        let server = self.server.to_string();
        if let Some(refused) = dcm_tls::refused(&source) {
            return Error::Handshake { server, source: Box::new(refused) };
        }
        let source = Box::new(source);
        if is_of_tls(&*source) {
            Error::Handshake { server, source }
        } else {
            Error::Silent { server, source }
        }
    }

    pub(crate) fn unreadable(
        &self,
        status: StatusCode,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        let (server, status) = (self.server.to_string(), status.as_u16());
        Error::Unreadable { server, status, source: Box::new(source) }
    }
}

impl Asking<'_> {
    /// With a JSON body.
    pub(crate) fn with<T: Serialize>(mut self, value: &T) -> Self {
        // What is sent has no maps with keys that JSON does not have.
        self.body = serde_json::to_vec(value).ok().map(Bytes::from);
        self
    }

    /// With a JSON body that is written already.
    pub(crate) fn with_json(mut self, text: &str) -> Self {
        self.body = Some(Bytes::copy_from_slice(text.as_bytes()));
        self
    }

    /// For what asks clusters before it is answered.
    pub(crate) fn patient(mut self) -> Self {
        self.timeout = self.timeout.max(LOOK_TIMEOUT);
        self
    }

    /// For an answer of another type.
    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// The answer, of which nothing is read yet, if it is one of success.
    pub(crate) async fn begin(&self) -> Result<Response<Incoming>, Error> {
        let mut tries = 1;
        loop {
            let answer = self.sent().await?;
            let status = answer.status();
            if status.is_success() {
                return Ok(answer);
            }
            // It was put off before anything was looked at.
            if status == StatusCode::TOO_MANY_REQUESTS && tries < TRIES_MAX {
                tokio::time::sleep(wait(answer.headers())).await;
                tries += 1;
                continue;
            }
            let body = self.whole(answer).await?;
            return Err(Error::Problem(Box::new(Problem::read(status, &body))));
        }
    }

    /// What is answered, as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let answer = self.begin().await?;
        let status = answer.status();
        let body = self.whole(answer).await?;
        serde_json::from_slice(&body).map_err(|error| self.connection.unreadable(status, error))
    }

    /// What is answered, and its head.
    pub(crate) async fn parts(&self) -> Result<(HeaderMap, Bytes), Error> {
        let answer = self.begin().await?;
        let headers = answer.headers().clone();
        Ok((headers, self.whole(answer).await?))
    }

    /// That it is accepted.
    pub(crate) async fn done(&self) -> Result<(), Error> {
        let answer = self.begin().await?;
        self.whole(answer).await.map(drop)
    }

    async fn sent(&self) -> Result<Response<Incoming>, Error> {
        let asked = self.connection.transport.request(self.request()?);
        let asked = tokio::time::timeout(self.timeout, asked).await;
        asked.map_err(|_| self.timed_out())?.map_err(|error| self.connection.silent(error))
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, Error> {
        let uri = format!("{}{}", self.connection.server.base(), self.target);
        let uri: Uri = uri.parse().map_err(|error| self.connection.silent(error))?;
        let mut request = Request::new(Full::new(self.body.clone().unwrap_or_default()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.clone_from(&self.connection.headers);
        headers.insert(ACCEPT, HeaderValue::from_static(self.accept));
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        Ok(request)
    }

    async fn whole(&self, answer: Response<Incoming>) -> Result<Bytes, Error> {
        let status = answer.status().as_u16();
        let reading = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let read = tokio::time::timeout(self.timeout, reading).await;
        match read.map_err(|_| self.timed_out())? {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(Error::Large { server: self.connection.server.to_string() })
            }
            Err(source) => {
                Err(Error::Unreadable { server: self.connection.server.to_string(), status, source })
            }
        }
    }

    fn timed_out(&self) -> Error {
        Error::TimedOut { server: self.connection.server.to_string() }
    }
}

/// True for what comes of TLS: the same is refused again.
fn is_of_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // What is in an error of I/O is not its source.
        let inner: Option<&rustls::Error> =
            error.downcast_ref().and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref());
        if inner.is_some() || error.is::<rustls::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// How long the server wants one to wait.
fn wait(headers: &HeaderMap) -> Duration {
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(asked.unwrap_or(1)).min(WAIT_MAX)
}

fn headers(options: &Options) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    if let Credential::Token(token) = &options.credential {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| Error::Token)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    // Any text may be the reason, so it goes as UTF-8; what no header can have is left out.
    let visible: String = options.why.chars().filter(|character| !character.is_control()).collect();
    for (name, text) in [(REASON, &visible), (REQUEST_ID, &options.request_id)] {
        if let Ok(value) = HeaderValue::from_bytes(text.as_bytes())
            && !value.is_empty()
        {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

fn tls(options: &Options) -> Result<ClientConfig, Error> {
    let unusable = |what, source: Box<dyn std::error::Error + Send + Sync>| Error::Tls { what, source };
    let builder = ClientConfig::builder_with_provider(dcm_tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("TLS", error.into()))?;
    let builder = match &options.authorities {
        // Without encryption nobody has to be trusted, and a system may have no authorities.
        None if !options.server.is_encrypted() => builder.with_root_certificates(RootCertStore::empty()),
        None => {
            builder.with_native_roots().map_err(|error| unusable("the system's authorities", error.into()))?
        }
        Some(bundle) => {
            let of_bundle = |error| unusable("the certificate authority", error);
            let mut roots = RootCertStore::empty();
            for authority in CertificateDer::pem_slice_iter(bundle) {
                let authority = authority.map_err(|error| of_bundle(error.into()))?;
                roots.add(authority).map_err(|error| of_bundle(error.into()))?;
            }
            if roots.is_empty() {
                return Err(of_bundle("there is no certificate in it".into()));
            }
            let verifier = dcm_tls::server_verifier(roots).map_err(|error| of_bundle(error.into()))?;
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
    };
    let Credential::Certificate { chain, key } = &options.credential else {
        return Ok(builder.with_no_client_auth());
    };
    let of_client = |error| unusable("the client certificate", error);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(|error| of_client(error.into()))?;
    let key = dcm_tls::private_key(key.expose().as_bytes());
    let key = key.map_err(|error| unusable("the client key", error.into()))?;
    let pair = dcm_tls::pair(chain, key).map_err(|error| of_client(error.into()))?;
    Ok(builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair))))
}
