//! Asks an issuer for its keys.

use std::time::Duration;

use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::keys::{KeySet, Published};
use super::url::{self, Rule};
use crate::refused::shown;
use crate::settings::Issuer;
use crate::tls;

/// Longest time that one fetch takes, both documents together: somebody waits for it.
pub const FETCH_TIME_LIMIT: Duration = Duration::from_secs(10);

/// Longest time for a connection to the issuer.
pub const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(5);

/// Largest document, in bytes: some have dozens of keys with their certificates.
pub const DOCUMENT_BYTES_MAX: usize = 512 * 1024;

/// Where an issuer says what it is.
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Why the keys of an issuer can't be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// There is no answer.
    #[error("no answer from {uri}")]
    Silent {
        /// What was asked for.
        uri: Uri,
        /// What happened.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It takes too long.
    #[error("there was no answer within {} s", FETCH_TIME_LIMIT.as_secs())]
    TimedOut,
    /// The answer is none of success; redirects are none.
    #[error("the answer from {uri} was {status}")]
    Status {
        /// What was asked for.
        uri: Uri,
        /// The answer.
        status: StatusCode,
    },
    /// The answer is too large.
    #[error("the answer from {uri} has more than {DOCUMENT_BYTES_MAX} bytes")]
    Large {
        /// What was asked for.
        uri: Uri,
    },
    /// The answer is not what was asked for.
    #[error("the answer from {uri} is not understood")]
    Unreadable {
        /// What was asked for.
        uri: Uri,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The answer is about another issuer.
    #[error("the answer is about the issuer {found:?}, and not, letter by letter, {expected:?}")]
    OtherIssuer {
        /// The issuer that was asked for.
        expected: String,
        /// The one that answered.
        found: String,
    },
    /// The keys lie where they are not asked for.
    #[error("the issuer names {uri:?} for its keys, which is not asked")]
    KeysUrl {
        /// Where they are.
        uri: String,
        /// What is wrong with it.
        source: Rule,
    },
    /// No key is for signatures.
    #[error("the issuer has no key that can check a signature")]
    NoKeys,
    /// The program is ending.
    #[error("the fetch was cut off")]
    CutOff,
}

impl FetchError {
    /// Whether the same question can have another answer later: always.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        true
    }
}

/// What an issuer says of itself.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

/// Asks one issuer.
pub(super) struct Fetcher {
    issuer: String,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

impl Fetcher {
    pub(super) fn open(issuer: &Issuer) -> Result<Self, tls::Error> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_TIME_LIMIT));
        // Which of the two is asked was decided by the rules for URLs.
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls::client(issuer.authorities.as_deref())?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        // Nobody asks again soon enough for a connection to be kept.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { issuer: issuer.issuer.clone(), client })
    }

    /// The keys that the issuer has now.
    pub(super) async fn keys(&self) -> Result<KeySet, FetchError> {
        tokio::time::timeout(FETCH_TIME_LIMIT, self.ask()).await.unwrap_or(Err(FetchError::TimedOut))
    }

    async fn ask(&self) -> Result<KeySet, FetchError> {
        let text = format!("{}{DISCOVERY}", self.issuer.trim_end_matches('/'));
        // The settings were checked: it is a URL.
        let uri = text.parse().map_err(|_| FetchError::KeysUrl { uri: text.clone(), source: Rule::Form })?;
        let Discovery { issuer, jwks_uri } = self.get(uri).await?;
        if issuer != self.issuer {
            return Err(FetchError::OtherIssuer { expected: self.issuer.clone(), found: shown(&issuer) });
        }
        let uri = url::check_document(&jwks_uri)
            .map_err(|source| FetchError::KeysUrl { uri: shown(&jwks_uri), source })?;
        let keys = KeySet::of(self.get::<Published>(uri).await?);
        if keys.is_empty() { Err(FetchError::NoKeys) } else { Ok(keys) }
    }

    async fn get<T: DeserializeOwned>(&self, uri: Uri) -> Result<T, FetchError> {
        let silent = |source: Box<dyn std::error::Error + Send + Sync>| {
            let refused = dcm_tls::refused(&*source);
            FetchError::Silent { uri: uri.clone(), source: refused.map_or(source, Into::into) }
        };
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = uri.clone();
        request.headers_mut().insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
        let answer = self.client.request(request).await.map_err(|error| silent(error.into()))?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(FetchError::Status { uri, status });
        }
        let body = match Limited::new(answer.into_body(), DOCUMENT_BYTES_MAX).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(FetchError::Large { uri }),
            Err(error) => return Err(silent(error)),
        };
        serde_json::from_slice(&body).map_err(|source| FetchError::Unreadable { uri, source })
    }
}
