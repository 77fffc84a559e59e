//! Credentials of users, tried at the API server that their kubeconfigs lead to.
//!
//! The request is a `SelfSubjectReview`: any authenticated user may make it, and it changes nothing. A server without that API is
//! asked for its version.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::{Call, Error};
use dcm_core::port::trial::{ClientCredential, Trial};
use http::HeaderValue;
use kube::config::AuthInfo;
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::budget::Budget;
use crate::connection;
use crate::failure::Failure;
use crate::kubeconfig::Checked;
use crate::options::Options;
use crate::transport::{Request, Transport};
use crate::whoami;

/// The user that an API server takes a client for that shows it no credential, or none that it looks at.
const ANONYMOUS: &str = "system:anonymous";

/// Connects with the credential in place of the kubeconfig's own, and asks the server for the name of its user.
pub(crate) async fn try_credential(
    kubeconfig: &Checked,
    options: &Options,
    budget: Arc<Budget>,
    call: &Call,
    credential: &ClientCredential,
) -> Result<Trial, Error> {
    let Some(user) = user(credential) else { return Ok(Trial::Unusable) };
    let transport = connection::open(kubeconfig.clone().of_user(&user), options, budget).await?;
    match review(&transport, call).await {
        Err(Error::Unreachable { source }) if is_refused_by_tls(&*source) => Ok(Trial::Refused),
        tried => tried,
    }
}

async fn review(transport: &Transport, call: &Call) -> Result<Trial, Error> {
    match whoami::review(transport, call).await {
        Ok(username) => Ok(trial(username != ANONYMOUS)),
        Err(Failure::Refused(refused)) if refused.is_not_served() => version(transport, call).await,
        Err(failure) => outcome(failure.into()),
    }
}

/// Asks a server of before Kubernetes 1.28, or one that serves no such review, for its version. Its 404 shows that the user is authenticated.
async fn version(transport: &Transport, call: &Call) -> Result<Trial, Error> {
    match transport.send(call, Request::get("/version".to_owned())).await {
        Ok(_) => Ok(Trial::Accepted),
        Err(failure) => outcome(failure.into()),
    }
}

/// What an error says of the credential. Rights are looked at once the user is known, so a user without them is accepted.
fn outcome(error: Error) -> Result<Trial, Error> {
    match error {
        Error::Unauthorized { .. } => Ok(Trial::Refused),
        Error::Forbidden { message } => Ok(trial(!message.contains(ANONYMOUS))),
        error => Err(error),
    }
}

fn trial(is_accepted: bool) -> Trial {
    if is_accepted { Trial::Accepted } else { Trial::Refused }
}

/// The credential as a user of a kubeconfig; none when no client can use it.
fn user(credential: &ClientCredential) -> Option<AuthInfo> {
    match credential {
        ClientCredential::Certificate { pem, key } => is_pair(pem, key.expose()).then(|| AuthInfo {
            client_certificate_data: Some(STANDARD.encode(pem.as_bytes())),
            client_key_data: Some(STANDARD.encode(key.expose()).into()),
            ..AuthInfo::default()
        }),
        ClientCredential::Token(token) => {
            HeaderValue::try_from(format!("Bearer {}", token.expose())).ok()?;
            Some(AuthInfo { token: Some(token.expose().to_owned().into()), ..AuthInfo::default() })
        }
    }
}

/// True for a certificate and its key.
fn is_pair(pem: &str, key: &str) -> bool {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let (Ok(certificates), Ok(key)) = (certificates, dcm_tls::private_key(key.as_bytes())) else {
        return false;
    };
    dcm_tls::pair(certificates, key).is_ok()
}

/// True when a server, or a proxy before it, ended the connection over the client's certificate.
fn is_refused_by_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| (**error).source());
    causes.any(|cause| {
        // What an input-output error holds is none of its causes.
        let held = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let held = held.and_then(|held| held.downcast_ref::<rustls::Error>());
        matches!(
            cause.downcast_ref::<rustls::Error>().or(held),
            Some(rustls::Error::AlertReceived(
                AlertDescription::BadCertificate
                    | AlertDescription::UnsupportedCertificate
                    | AlertDescription::CertificateRevoked
                    | AlertDescription::CertificateExpired
                    | AlertDescription::CertificateUnknown
                    | AlertDescription::CertificateRequired
                    | AlertDescription::UnknownCA
                    | AlertDescription::AccessDenied
            ))
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use dcm_core::secret::Secret;
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn a_user_without_rights_is_accepted_and_an_unknown_one_is_not() {
        let forbidden = |user: &str| {
            outcome(Error::Forbidden { message: format!("User \"{user}\" cannot create").into() })
        };
        assert_eq!(forbidden("ann").unwrap(), Trial::Accepted);
        assert_eq!(forbidden(ANONYMOUS).unwrap(), Trial::Refused);
        assert_eq!(outcome(Error::Unauthorized { message: "".into() }).unwrap(), Trial::Refused);
        assert!(matches!(outcome(Error::Gone), Err(Error::Gone)));
    }

    #[test]
    fn what_no_client_can_use_is_not_sent() {
        let key = || KeyPair::generate().unwrap();
        let (own, other) = (key(), key());
        let pem = CertificateParams::default().self_signed(&own).unwrap().pem();
        let certificate = |pem: &str, key: &str| {
            user(&ClientCredential::Certificate { pem: pem.into(), key: Secret::new(key) }).is_some()
        };
        assert!(certificate(&pem, &own.serialize_pem()));
        assert!(!certificate(&pem, &other.serialize_pem()), "the key of another one");
        assert!(!certificate("text", &own.serialize_pem()));
        assert!(!certificate(&pem, "text"));
        let token = |text: &str| user(&ClientCredential::Token(Secret::new(text))).is_some();
        assert_eq!((token("a.b.c"), token("a\nb")), (true, false));
    }

    #[test]
    fn an_alert_about_the_certificate_is_a_refusal_and_a_broken_connection_is_none() {
        let alert = |alert| io::Error::other(rustls::Error::AlertReceived(alert));
        assert!(is_refused_by_tls(&alert(AlertDescription::UnknownCA)));
        assert!(!is_refused_by_tls(&alert(AlertDescription::InternalError)));
        assert!(!is_refused_by_tls(&io::Error::from(io::ErrorKind::ConnectionReset)));
    }
}
