//! Who signs certificates on a simulated cluster.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use super::rbac::Identity;

/// Longest lifetime of a certificate: the default of kube-controller-manager's `--cluster-signing-duration`.
pub const CERTIFICATE_LIFETIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a signer is asked to sign.
#[derive(Debug, Clone, Copy)]
pub struct SigningRequest<'a> {
    /// The PKCS #10 request, PEM.
    pub csr_pem: &'a str,
    /// The lifetime asked for.
    pub lifetime: Option<Duration>,
    /// The time.
    pub now: Timestamp,
    /// The serial number that the certificate gets.
    pub serial: u64,
}

/// Why a signer refuses. It ends as the request's condition `Failed`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The reason.
    pub message: String,
}

/// Signs certificates, and knows its own again.
///
/// # Contract
/// No waiting, and no clock: the time is an argument.
pub trait Signer: Send + Sync + 'static {
    /// Signs; the answer is the certificate, PEM.
    ///
    /// # Errors
    /// [`Refusal`] when it will not sign this.
    fn sign(&self, request: &SigningRequest<'_>) -> Result<String, Refusal>;

    /// Whom a certificate of this signer stands for; none when it is not of this signer, or not valid now.
    fn identify(&self, certificate_pem: &str, now: Timestamp) -> Option<Identity>;

    /// The certificate of the authority, PEM, for kubeconfigs; none when there is none.
    fn ca_pem(&self) -> Option<String>;
}

/// Answers each request with a text in PEM's form that says that it is no certificate. For tests that look at the
/// sequence of steps and not at the certificate.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeSigner {
    /// Which one it is: each knows its own texts alone.
    number: u64,
}

impl FakeSigner {
    /// Another one than those of other numbers. That of number 0 is the default.
    #[must_use]
    pub fn numbered(number: u64) -> Self {
        Self { number }
    }
}

/// What the texts of a [`FakeSigner`] begin with, before they are encoded.
const FAKE: &str = "simulated, no certificate: signer ";

impl Signer for FakeSigner {
    fn sign(&self, request: &SigningRequest<'_>) -> Result<String, Refusal> {
        let text = format!("{FAKE}{} serial {} at {}", self.number, request.serial, request.now);
        Ok(format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(text)))
    }

    /// Its texts stand for one user, for ever.
    fn identify(&self, certificate_pem: &str, _: Timestamp) -> Option<Identity> {
        let text = STANDARD.decode(certificate_pem.lines().nth(1)?).ok()?;
        let own = format!("{FAKE}{} ", self.number);
        text.starts_with(own.as_bytes()).then(|| Identity::user("simulated"))
    }

    fn ca_pem(&self) -> Option<String> {
        None
    }
}
