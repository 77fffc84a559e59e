//! Who is let in at a listener, and what they may do there.

mod gate;
mod guesses;
mod proved;
mod rate;
mod roles;

use std::fmt;
use std::sync::Arc;

use dcm_core::port::clock::Clock;
use dcm_core::refusal::{Checks, Path, Refusals};
use dcm_core::service::Limits;
use dcm_identity::{Authenticator, WallClock, tls};
use rustls::ServerConfig;

pub(crate) use gate::{Gate, admit};
pub use rate::{REQUESTS_BURST, REQUESTS_PER_SECOND, Rate};
use roles::Roles;
pub use roles::{BINDINGS_MAX, RoleBinding, RoleName, SUBJECTS_MAX};

/// Who is let in, over what, and what they may do: as [`Settings`](crate::Settings) say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessSettings {
    /// Certificate and key of the server; none: plain HTTP.
    pub tls: Option<tls::Files>,
    /// How callers prove who they are; none: nobody has to, and whoever can connect may do everything.
    pub authentication: Option<dcm_identity::Settings>,
    /// Who may do what.
    pub roles: Vec<RoleBinding>,
    /// How often each caller may ask; none: as is default.
    pub requests: Option<Rate>,
    /// What whoever may not do everything is held to in logical clouds; none: as is default.
    pub limits: Option<Limits>,
}

/// Why callers can't be let in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The settings break rules.
    #[error(transparent)]
    Settings(#[from] Refusals),
    /// Callers can't be asked who they are.
    #[error("authentication can't be set up")]
    Authentication(#[source] dcm_identity::OpenError),
    /// TLS can't be spoken.
    #[error("TLS can't be set up")]
    Tls(#[source] tls::Error),
}

impl AccessError {
    /// True when the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Settings(_) => false,
            Self::Authentication(source) => source.is_retryable(),
            Self::Tls(source) => source.is_retryable(),
        }
    }
}

/// Who is let in at a listener, over what, and what they may do. Cheap to clone.
#[derive(Clone, Default)]
pub struct Access {
    tls: Option<Arc<ServerConfig>>,
    known: Option<Arc<Known>>,
}

/// How it is found out who asks.
struct Known {
    authenticator: Authenticator,
    roles: Roles,
    rate: Option<Rate>,
    limits: Arc<Limits>,
    /// For intervals, also those of answers that go on.
    clock: Arc<dyn Clock>,
    /// For what expires.
    wall: Arc<dyn Clock>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tls, asks_who) = (self.tls.is_some(), self.asks_who());
        f.debug_struct("Access").field("tls", &tls).field("asks_who", &asks_who).finish()
    }
}

impl Access {
    /// Reads the files of the settings. By default everybody is let in over plain HTTP, and may do everything: at loopback
    /// addresses alone.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn open(settings: &AccessSettings, clock: &Arc<dyn Clock>) -> Result<Self, AccessError> {
        let roles = settings.roles()?;
        let authentication = settings.authentication.as_ref();
        let wall: Arc<dyn Clock> = Arc::new(WallClock::over(clock.clone()));
        let known = match authentication {
            Some(authentication) => {
                let authenticator = Authenticator::open(authentication, wall.clone());
                let authenticator = authenticator.map_err(AccessError::Authentication)?;
                let rate = Some(settings.requests.unwrap_or_default()).filter(|rate| !rate.is_unlimited());
                let limits = Arc::new(settings.limits.clone().unwrap_or_default());
                let (clock, wall) = (clock.clone(), wall.clone());
                Some(Arc::new(Known { authenticator, roles, rate, limits, clock, wall }))
            }
            None => None,
        };
        let clients = authentication.map_or(tls::Clients::NotAsked, dcm_identity::Settings::clients);
        let server = |files| tls::server(files, &clients, &[tls::HTTP_1], wall.clone());
        let tls = settings.tls.as_ref().map(server).transpose().map_err(AccessError::Tls)?;
        Ok(Self { tls, known })
    }

    /// How TLS is spoken; none: it is not.
    pub(crate) fn tls(&self) -> Option<&Arc<ServerConfig>> {
        self.tls.as_ref()
    }

    /// The same over plain HTTP.
    pub(crate) fn without_tls(&self) -> Self {
        Self { tls: None, known: self.known.clone() }
    }

    /// True where callers prove who they are.
    pub(crate) fn asks_who(&self) -> bool {
        self.known.is_some()
    }

    /// True where it may be listened on addresses that others can reach.
    pub(crate) fn is_for_others(&self) -> bool {
        self.tls.is_some() && self.known.is_some()
    }
}

impl AccessSettings {
    /// Checks what can be checked without the files.
    pub(crate) fn check(&self) -> Result<(), Refusals> {
        self.roles().map(drop)
    }

    /// The same, with what the bindings say.
    fn roles(&self) -> Result<Roles, Refusals> {
        let mut checks = Checks::default();
        let root = Path::root();
        match &self.authentication {
            Some(authentication) => {
                let path = root.field("authentication");
                if authentication.is_empty() {
                    checks.refuse(&path, "", "names no way for a caller to prove who they are");
                }
                checks.include(&path, authentication.check());
                if authentication.client_certificates.is_some() && self.tls.is_none() {
                    checks.refuse(
                        &path.field("clientCertificates"),
                        "",
                        "needs tls: they are shown in its handshake",
                    );
                }
                if self.roles.is_empty() {
                    checks.refuse(
                        &root.field("roles"),
                        "",
                        "must bind somebody to a role: nobody else may do anything",
                    );
                }
            }
            None => {
                let needs = "is for callers who prove who they are: set authentication";
                if !self.roles.is_empty() {
                    checks.refuse(&root.field("roles"), "", needs);
                }
                if self.requests.is_some() {
                    checks.refuse(&root.field("requests"), "", needs);
                }
                if self.limits.is_some() {
                    checks.refuse(&root.field("namespaceLabels"), "", needs);
                }
            }
        }
        if let Some(rate) = &self.requests {
            rate.check_at(&root.field("requests"), &mut checks);
        }
        if let Some(limits) = &self.limits {
            limits.check(&root.field("namespaceLabels"), &mut checks);
        }
        let roles = Roles::read(&self.roles, &root.field("roles"), &mut checks);
        checks.finish(Some(roles))
    }
}
