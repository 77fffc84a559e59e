//! A client, and what it is made of.

use std::time::Duration;

use dcm_core::secret::Secret;

use crate::audit::Audit;
use crate::clusters::Clusters;
use crate::connection::Connection;
use crate::error::Error;
use crate::logical_clouds::LogicalClouds;
use crate::page;
use crate::projects::{Project, Projects};
use crate::server_url::{InvalidUrl, ServerUrl};

/// How long an answer may take where nobody says otherwise.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// How a server is asked.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it is.
    pub server: ServerUrl,
    /// The authorities that its certificate may be of, as PEM. Default: those of the system.
    pub authorities: Option<Vec<u8>>,
    /// What tells the server who asks. Default: nothing.
    pub credential: Credential,
    /// Why things are done; the audit log keeps it. Default: nothing.
    pub why: String,
    /// What requests are called in logs and in the audit log: visible ASCII, at most 128 bytes. Default: as the server likes.
    pub request_id: String,
    /// How long an answer may take to begin, and then to end. Default: two minutes. For a plan and whatever else asks clusters first it
    /// is [`LOOK_TIMEOUT`](crate::LOOK_TIMEOUT) at least.
    pub answer_timeout: Duration,
}

/// What tells a server who asks.
#[derive(Debug, Clone, Default)]
pub enum Credential {
    /// Nothing: whoever may connect may ask.
    #[default]
    Nothing,
    /// A static token, or one of an OpenID Connect issuer. It is sent as a bearer token (RFC 6750).
    Token(Secret),
    /// A client certificate.
    Certificate {
        /// The certificate, and those that it was issued by, as PEM.
        chain: Vec<u8>,
        /// Its private key, as PEM.
        key: Secret,
    },
}

/// A client of one server. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Client {
    connection: Connection,
}

impl Options {
    /// Asks a server without a credential.
    ///
    /// # Errors
    /// [`InvalidUrl`].
    pub fn new(server: &str) -> Result<Self, InvalidUrl> {
        Ok(Self {
            server: server.parse()?,
            authorities: None,
            credential: Credential::Nothing,
            why: String::new(),
            request_id: String::new(),
            answer_timeout: ANSWER_TIMEOUT,
        })
    }
}

impl Client {
    /// A client that connects when it asks for the first time.
    ///
    /// # Errors
    /// [`Error::Tls`] and [`Error::Token`].
    pub fn open(options: &Options) -> Result<Self, Error> {
        Ok(Self { connection: Connection::open(options)? })
    }

    /// Where the server is.
    #[must_use]
    pub fn server(&self) -> &ServerUrl {
        self.connection.server()
    }

    /// Whether the server lets in who asks.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn check(&self) -> Result<(), Error> {
        page::first::<Project>(&self.connection, "/v2/projects?limit=1".to_owned()).await
    }

    /// The audit log.
    #[must_use]
    pub fn audit(&self) -> Audit<'_> {
        Audit::new(&self.connection)
    }

    /// The registered clusters.
    #[must_use]
    pub fn clusters(&self) -> Clusters<'_> {
        Clusters::new(&self.connection)
    }

    /// The projects.
    #[must_use]
    pub fn projects(&self) -> Projects<'_> {
        Projects::new(&self.connection)
    }

    /// The logical clouds of all projects.
    #[must_use]
    pub fn logical_clouds(&self) -> LogicalClouds<'_> {
        LogicalClouds::new(&self.connection)
    }
}
