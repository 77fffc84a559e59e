//! The checks of the certificates of servers and clients.

use std::sync::Arc;

use dcm_core::pki::unsupported_key;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
pub use rustls::server::VerifierBuilderError;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use crate::refused::{Peer, PeerRefused, Reason, explain};

/// Makes a verifier of servers whose certificates come from these authorities. It verifies as rustls does, and its errors name the key
/// or the signature that is not supported: see [`refused`](fn@crate::refused).
///
/// # Errors
/// No authority.
pub fn server_verifier(roots: RootCertStore) -> Result<Arc<dyn ServerCertVerifier>, VerifierBuilderError> {
    let roots = Arc::new(roots);
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), crate::provider());
    Ok(Arc::new(Explaining { verifier: builder.build()?, roots }))
}

/// Makes a verifier of clients whose certificates come from these authorities, or, unless one is required, who show none. It verifies as
/// rustls does, and its errors name the key or the signature that is not supported.
///
/// # Errors
/// No authority.
pub fn client_verifier(
    roots: RootCertStore,
    is_required: bool,
) -> Result<Arc<dyn ClientCertVerifier>, VerifierBuilderError> {
    let roots = Arc::new(roots);
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), crate::provider());
    let builder = if is_required { builder } else { builder.allow_unauthenticated() };
    Ok(Arc::new(Explaining { verifier: builder.build()?, roots }))
}

#[derive(Debug)]
struct Explaining<V: ?Sized> {
    roots: Arc<RootCertStore>,
    verifier: Arc<V>,
}

impl<V: ?Sized> Explaining<V> {
    fn explained<T>(
        &self,
        peer: Peer,
        verified: Result<T, Error>,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
    ) -> Result<T, Error> {
        match verified {
            // A signature of the handshake by a key that is not supported would count as a broken one.
            Ok(verified) => match unsupported_key(end_entity) {
                None => Ok(verified),
                Some(found) => Err(PeerRefused::own(peer, Reason::Unsupported(found)).into()),
            },
            Err(error) => {
                let chain: Vec<_> = std::iter::once(end_entity).chain(intermediates).collect();
                Err(explain(peer, error, &chain, &self.roots.roots))
            }
        }
    }
}

impl ServerCertVerifier for Explaining<WebPkiServerVerifier> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        self.explained(Peer::Server, verified, end_entity, intermediates)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

impl ClientCertVerifier for Explaining<dyn ClientCertVerifier> {
    fn offer_client_auth(&self) -> bool {
        self.verifier.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.verifier.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.verifier.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.verifier.verify_client_cert(end_entity, intermediates, now);
        self.explained(Peer::Client, verified, end_entity, intermediates)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
