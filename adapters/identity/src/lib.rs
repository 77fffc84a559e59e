//! Who asks: client certificates, bearer tokens of OpenID Connect issuers, static tokens; and TLS for a server that
//! asks for them.
//!
//! An [`Authenticator`] is opened from [`Settings`] and makes an [`Identity`] from what a caller shows: a user, their
//! groups, how that was proved, and until when the proof holds. What an identity may do is none of its business. The words
//! are those of Kubernetes: a certificate's common name is the user and its organizations are the groups; an issuer's claims
//! get a prefix, so that nobody's names are taken for another's.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use dcm_core::port::clock::Clock;
//! use dcm_identity::tls::{self, Files};
//! use dcm_identity::{Authenticator, Settings, bearer};
//!
//! # async fn example(settings: Settings, clock: Arc<dyn Clock>) -> Result<(), Box<dyn std::error::Error>> {
//! let authenticator = Authenticator::open(&settings, Arc::clone(&clock))?;
//! let files = Files { certificate: "server.pem".into(), key: "server.key".into() };
//! let config = tls::server(&files, &settings.clients(), &[tls::HTTP_1], clock)?;
//!
//! // For each request: what is in its `Authorization`, or else the certificate of its connection.
//! if let Some(token) = bearer::token_in(b"Bearer dcm_0123456789abcdef_0123") {
//!     let identity = authenticator.bearer(token).await?;
//!     println!("{} by {}", identity.user(), identity.proof());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Promises
//! - What is refused is refused for a reason that the log can have ([`Refused`]): no token, no key and no hash is in it. The
//!   caller hears one of two sentences.
//! - What can't be checked now is another thing than what is refused ([`Unavailable`]).
//! - A name beginning with `system:` is never anybody's who came from outside.
//! - Files are read again while the server runs: certificates, and static tokens, of which one that is taken out of its file is
//!   refused within [`tokens::REVOCATION_DELAY_MAX`], whatever else is wrong with that file.
//! - What has expired by the machine's time is refused, also where that was set after the start ([`WallClock`]).
//! - An issuer's keys are fetched once for all who wait for them, and outlive its outages until they are [`oidc::KEYS_AGE_MAX`] old.
//! - One implementation of cryptography, `aws-lc-rs`, for all of it.

mod authenticator;
pub mod bearer;
pub mod certificate;
pub mod identity;
mod live;
pub mod name;
pub mod oidc;
mod refused;
pub mod settings;
pub mod tls;
pub mod tokens;
mod wall;

pub use self::authenticator::{Authenticator, OpenError};
pub use self::identity::{Identity, Proof};
pub use self::refused::{Refused, Unavailable, Unproved};
pub use self::settings::Settings;
pub use self::wall::WallClock;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
