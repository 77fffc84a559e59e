//! An OpenID Connect issuer: real tokens of a real implementation, with whatever users, lifetimes and keys a test needs.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use dcm_testenv::Issuer;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let issuer = Issuer::builder()
//!     .client("shop")
//!     .user("alice", &["builders", "readers"])
//!     .lifetime(Duration::from_secs(60))
//!     .start()
//!     .await?;
//! // An ID token: `iss` is `issuer.url()`, `aud` is `shop`, `sub` is `alice`, `groups` are hers.
//! let token = issuer.id_token("shop", "alice").await?;
//!
//! // Away, and back with another key.
//! issuer.kill();
//! issuer.restart().await?;
//! # Ok(())
//! # }
//! ```
//!
//! It speaks TLS with a certificate of its own authority ([`Issuer::authority`]). Clients are public ones, programs on their
//! users' machines: the authorization code flow with PKCE, back to `http://127.0.0.1/callback` on any port. Nobody is asked for a
//! password: the `login_hint` of a request is who logs in.

mod login;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::login::Error as LoginError;
use crate::Error;
use crate::process::Launch;
use crate::programs::Program;
use crate::runtime;
use crate::standalone::{Setting, Speaks, Standalone};

/// How long tokens are valid, unless the builder says otherwise: longer than any test.
pub const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// What an issuer signs its tokens with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with PKCS #1 padding: what issuers must have.
    #[default]
    Rs256,
    /// RSA with PSS padding.
    Ps256,
    /// ECDSA on the curve P-256.
    Es256,
    /// ECDSA on the curve P-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        })
    }
}

/// What an issuer is to be.
#[derive(Debug, Clone)]
pub struct Builder {
    clients: Vec<String>,
    users: Vec<String>,
    lifetime: Duration,
    algorithm: Algorithm,
}

impl Builder {
    /// Adds a client: an audience of tokens.
    #[must_use]
    pub fn client(mut self, id: &str) -> Self {
        self.clients.push(id.to_owned());
        self
    }

    /// Adds a user, with the groups that they are in. Their mail address is the name at `example.com`.
    #[must_use]
    pub fn user(mut self, name: &str, groups: &[&str]) -> Self {
        self.users.push(format!("{name}={}", groups.join(",")));
        self
    }

    /// How long tokens are valid; [`LIFETIME`], if nothing is said. Tokens count whole seconds.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// What tokens are signed with; RS256, if nothing is said.
    #[must_use]
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Starts the issuer and waits until it answers.
    ///
    /// # Errors
    /// When the program is missing and can't be built, or it is not ready in time.
    pub async fn start(self) -> Result<Issuer, Error> {
        let launch = |setting: &Setting<'_>| Ok(self.launch(setting));
        let server = Standalone::start_program(Program::OidcIssuer, Speaks::Tls, launch).await?;
        Ok(Issuer { server })
    }

    fn launch(&self, setting: &Setting<'_>) -> Launch {
        let mut arguments = vec![
            format!("-listen={}", setting.clients),
            format!("-clients={}", self.clients.join(",")),
            format!("-lifetime={}ms", self.lifetime.as_millis()),
            format!("-algorithm={}", self.algorithm),
        ];
        arguments.extend(self.users.iter().map(|user| format!("-user={user}")));
        if let Some(tls) = setting.tls {
            arguments.push(format!("-certificate={}", tls.certificate.display()));
            arguments.push(format!("-key={}", tls.key.display()));
        }
        Launch {
            program: "oidc-issuer",
            executable: setting.executable.to_owned(),
            arguments,
            log: setting.folder.join("oidc-issuer.log"),
        }
    }
}

/// An OpenID Connect issuer. It lives as long as this value, or as this process.
#[derive(Debug)]
pub struct Issuer {
    server: Standalone,
}

impl Issuer {
    /// Says what an issuer is to be. It needs a client and a user before it can make a token.
    pub fn builder() -> Builder {
        Builder {
            clients: Vec::new(),
            users: Vec::new(),
            lifetime: LIFETIME,
            algorithm: Algorithm::default(),
        }
    }

    /// Its URL, as it stands in its tokens.
    pub fn url(&self) -> String {
        format!("https://{}", self.server.address())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The file with the authority of its certificate.
    pub fn authority(&self) -> PathBuf {
        self.server.authority()
    }

    /// The folder with its log.
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }

    /// Logs a user in at a client, as a browser would, and gives the ID token that the client gets. Asks for all scopes there are:
    /// `openid`, `profile`, `email` and `groups`.
    ///
    /// # Errors
    /// When the issuer is away, or does not know the client or the user.
    pub async fn id_token(&self, client: &str, user: &str) -> Result<String, LoginError> {
        let handle = runtime::handle().map_err(LoginError::Runtime)?;
        let login = login::Login::new(self.address(), &self.authority(), client, user)?;
        runtime::run(handle, login.id_token()).await
    }

    /// Kills it (`SIGKILL`): nobody answers at its URL any more.
    pub fn kill(&self) {
        self.server.kill();
    }

    /// Stops it where it is (`SIGSTOP`): connections are taken, and nothing is said.
    pub fn freeze(&self) {
        self.server.freeze();
    }

    /// Lets it go on after [`Self::freeze`].
    pub fn thaw(&self) {
        self.server.thaw();
    }

    /// Kills it, if it runs, and starts it at the same URL with another signing key.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub async fn restart(&self) -> Result<(), Error> {
        self.server.kill();
        self.server.start().await
    }
}
