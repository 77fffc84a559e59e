//! Choices about requests: what is next on the way from asking to a stored result.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::object::cause;
use super::view::{Answered, CertificateState, Seen, Sighting, View};
use super::{Step, Wave, Why, Work};
use crate::app_context::{self, Action, CertificateRequest, Request, TokenRequest};
use crate::hash::ContentHash;
use crate::manifest::{GroupVersionKind, InvalidManifest, Manifest, ObjectKey};
use crate::port::cluster::Precondition;
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
    /// Approves it.
    Approve {
        /// The state in which it was seen to ask for exactly what is desired.
        observed: Precondition,
    },
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
        /// UID of the ServiceAccount that is there: the token is bound to it. None when none was seen: then nothing is asked for.
        account: Option<Arc<str>>,
    },
    /// Tries a stored credential again. No plan contains this step: the engine sends it at intervals, because no watch reports that a
    /// cluster stopped accepting a credential.
    TryAgain {
        /// The requested lifetime of a certificate: an expired one is not tried.
        lifetime: Option<Duration>,
    },
}

impl RequestWork {
    /// True when it changes the cluster.
    #[must_use]
    pub fn is_write(&self) -> bool {
        match self {
            Self::Ask { .. } | Self::Approve { .. } | Self::Token { .. } => true,
            Self::AwaitSigner | Self::Collect { .. } | Self::TryAgain { .. } => false,
        }
    }
}

/// True for the kind through which certificates are asked for.
pub(super) fn is_request(kind: &GroupVersionKind) -> bool {
    &*kind.group == CERTIFICATES
}

/// The CertificateSigningRequest as a manifest, for the usages of a TLS client.
///
/// # Errors
/// [`InvalidManifest`] when the object's name is empty.
pub fn certificate_manifest(request: &CertificateRequest) -> Result<Manifest, InvalidManifest> {
    Manifest::new(json!({
        "apiVersion": format!("{CERTIFICATES}/v1"),
        "kind": "CertificateSigningRequest",
        "metadata": {"name": &*request.object_name},
        "spec": specification(request),
    }))
}

fn specification(request: &CertificateRequest) -> Value {
    let mut spec = json!({
        "request": STANDARD.encode(request.csr_pem.as_bytes()),
        "signerName": &*request.signer,
        "usages": ["digital signature", "client auth"],
    });
    if let Some(seconds) = request.lifetime_seconds {
        spec["expirationSeconds"] = seconds.into();
    }
    spec
}

impl CertificateState {
    /// [`CertificateState::asked`] of a CertificateSigningRequest that is made for this request.
    #[must_use]
    pub fn asked_by(request: &CertificateRequest) -> ContentHash {
        digest(&specification(request))
    }
}

/// A digest of all that a signer goes by in the `spec` of a CertificateSigningRequest: the request's bytes, the signer,
/// the usages and the lifetime. What the API server writes beside them (the user that made it) is left out.
pub(super) fn digest(spec: &Value) -> ContentHash {
    ContentHash::of(&json!([spec["request"], spec["signerName"], spec["usages"], spec["expirationSeconds"]]))
}

/// What is left to do for a request; none when its result is stored.
pub(super) fn desire(wave: Wave, name: &Arc<str>, request: &Request, view: &dyn View) -> Option<Step> {
    let answered = view.answered(name);
    let (kind, key, work) = match request {
        Request::Token(request) => {
            let kind = GroupVersionKind::new("", "v1", "ServiceAccount");
            let key = request.account();
            let account = match view.see(&key) {
                // It is looked at by name before anything is asked for.
                Seen::Unlisted if answered.is_some() => return None,
                Seen::Unlisted | Seen::Absent => None,
                Seen::Present(sighting) => Some(&sighting.uid),
            };
            match answered {
                Some(Answered::Unbound) => return None,
                // A cluster accepts no token of an account that was replaced.
                Some(Answered::OfAccount(bound)) if Some(bound) == account => return None,
                Some(Answered::OfAccount(_)) | None => {}
            }
            (kind, key, RequestWork::Token { request: request.clone(), account: account.cloned() })
        }
        Request::Certificate(_) if answered.is_some() => return None,
        Request::Certificate(request) => {
            let kind = GroupVersionKind::new(CERTIFICATES, "v1", "CertificateSigningRequest");
            let key = request.object();
            match view.see(&key) {
                Seen::Unlisted | Seen::Absent => (kind, key, RequestWork::Ask { request: request.clone() }),
                Seen::Present(sighting) => match certificate(request, &key, sighting) {
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
///
/// Its content alone decides whether it is ours: anyone that may create one can give it our name and our marks, and what
/// is approved is signed. One that asks for the same as ours does is as good as ours, as only we hold the key.
fn certificate(
    request: &CertificateRequest,
    key: &ObjectKey,
    sighting: &Sighting,
) -> Result<RequestWork, Work> {
    let state = sighting.certificate().filter(|state| state.asked == CertificateState::asked_by(request));
    let Some(state) = state else {
        let message = "a certificate signing request of this name exists and asks for something else: it is not \
                       approved";
        return Err(Work::Blocked(cause(Reason::Foreign, message, key)));
    };
    if let Some(refused) = &state.refused {
        let message = "the cluster denied the certificate signing request, or failed to sign it";
        return Err(Work::Blocked(cause(Reason::Denied, message, key).detailed(refused.clone())));
    }
    Ok(match &state.certificate {
        Some(certificate) => RequestWork::Collect { certificate: certificate.clone() },
        None if state.approved => RequestWork::AwaitSigner,
        None => RequestWork::Approve { observed: sighting.precondition() },
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
            Some(if view.answered(name).is_some() { Answer::Stored } else { Answer::Open })
        }
        Action::Request { .. } | Action::Apply { .. } | Action::Edit { .. } => None,
    })
}
