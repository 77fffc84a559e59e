//! Choices about requests: what is next on the way from asking to a stored result.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::object::cause;
use super::view::{Seen, Sighting, View};
use super::{Rules, Step, Wave, Why, Work};
use crate::app_context::{self, Action, CertificateRequest, Request, TokenRequest};
use crate::manifest::{GroupVersionKind, InvalidManifest, Manifest, ObjectKey};
use crate::status::Reason;

/// API group of certificate signing requests.
const CERTIFICATES: &str = "certificates.k8s.io";

/// What is next for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestWork {
    /// Makes the CertificateSigningRequest.
    Ask {
        /// What is asked for.
        request: CertificateRequest,
    },
    /// Approves it, in the state that was seen.
    Approve,
    /// Waits until the signer has issued.
    AwaitSigner,
    /// Stores the certificate.
    Collect {
        /// Base64 of PEM, as the API has it.
        certificate: Arc<str>,
    },
    /// Asks for a token and stores it.
    Token {
        /// What is asked for.
        request: TokenRequest,
    },
}

impl RequestWork {
    /// True when it changes the cluster.
    #[must_use]
    pub fn is_write(&self) -> bool {
        match self {
            Self::Ask { .. } | Self::Approve | Self::Token { .. } => true,
            Self::AwaitSigner | Self::Collect { .. } => false,
        }
    }
}

/// True for the kind through which certificates are asked for.
pub(super) fn is_request(kind: &GroupVersionKind) -> bool {
    &*kind.group == CERTIFICATES
}

/// The object through which a certificate is asked for.
pub(super) fn certificate_key(request: &CertificateRequest) -> ObjectKey {
    ObjectKey::new(CERTIFICATES.into(), "CertificateSigningRequest".into(), None, request.object_name.clone())
}

/// The CertificateSigningRequest as a manifest, for the usages of a TLS client.
///
/// # Errors
/// [`InvalidManifest`] when the object's name is empty.
pub fn certificate_manifest(request: &CertificateRequest) -> Result<Manifest, InvalidManifest> {
    let mut spec = json!({
        "request": STANDARD.encode(request.csr_pem.as_bytes()),
        "signerName": &*request.signer,
        "usages": ["digital signature", "client auth"],
    });
    if let Some(seconds) = request.lifetime_seconds {
        spec["expirationSeconds"] = seconds.into();
    }
    Manifest::new(json!({
        "apiVersion": format!("{CERTIFICATES}/v1"),
        "kind": "CertificateSigningRequest",
        "metadata": {"name": &*request.object_name},
        "spec": spec,
    }))
}

/// What is left to do for a request; none when its result is stored.
pub(super) fn desire(
    rules: &Rules<'_>,
    wave: Wave,
    name: &Arc<str>,
    request: &Request,
    view: &dyn View,
) -> Option<Step> {
    if view.is_issued(name) {
        return None;
    }
    let (kind, key, work) = match request {
        Request::Token(request) => {
            let kind = GroupVersionKind::new("", "v1", "ServiceAccount");
            let key = ObjectKey::of_kind(&kind, Some(&request.namespace), &request.service_account);
            (kind, key, RequestWork::Token { request: request.clone() })
        }
        Request::Certificate(request) => {
            let kind = GroupVersionKind::new(CERTIFICATES, "v1", "CertificateSigningRequest");
            let key = certificate_key(request);
            match view.see(&key) {
                Seen::Unlisted | Seen::Absent => (kind, key, RequestWork::Ask { request: request.clone() }),
                Seen::Present(sighting) => match certificate(rules, &key, sighting) {
                    Ok(work) => (kind, key, work),
                    Err(blocked) => {
                        return Some(Step { wave, kind, key, work: blocked, why: Why::NotOurs });
                    }
                },
            }
        }
    };
    Some(Step { wave, kind, key, work: Work::Request { name: name.clone(), work }, why: Why::NotIssued })
}

/// What is next for a CertificateSigningRequest that is there.
fn certificate(rules: &Rules<'_>, key: &ObjectKey, sighting: &Sighting) -> Result<RequestWork, Work> {
    let ours = sighting
        .marks
        .as_ref()
        .is_some_and(|marks| marks.owner == *rules.owner && marks.context == *rules.context);
    if !ours {
        let message = "a certificate signing request of this name is there, and is not ours";
        return Err(Work::Blocked(cause(Reason::Foreign, message, key)));
    }
    let state = sighting.certificate().cloned().unwrap_or_default();
    if let Some(message) = &state.refused {
        return Err(Work::Blocked(cause(Reason::Denied, message, key)));
    }
    Ok(match state.certificate {
        Some(certificate) => RequestWork::Collect { certificate },
        None if state.approved => RequestWork::AwaitSigner,
        None => RequestWork::Approve,
    })
}

/// How far a desired request is that has an object on the cluster.
pub(super) enum Answer {
    /// It is not answered, or the answer is not known to be kept.
    Open,
    /// The answer is among the results: the object has done its service.
    Stored,
}

/// How far the desired request is that this object belongs to; none when it belongs to none.
pub(super) fn answer(desired: &[app_context::Step], key: &ObjectKey, view: &dyn View) -> Option<Answer> {
    if &*key.group != CERTIFICATES {
        return None;
    }
    desired.iter().find_map(|step| match &step.action {
        Action::Request { name, request: Request::Certificate(request) }
            if request.object_name == key.name =>
        {
            Some(if view.is_issued(name) { Answer::Stored } else { Answer::Open })
        }
        Action::Request { .. } | Action::Apply { .. } => None,
    })
}
