//! What clusters issued for a user: found, checked, or the reason why it can't be handed out.

use std::sync::Arc;

use jiff::Timestamp;

use crate::name::{ClusterId, UserName};
use crate::pki::{self, CertificateFacts, CertificateRefused, Expected};
use crate::port::synchronizer::{Issued, Results};
use crate::render::naming;
use crate::secret::Secret;
use crate::status::{Cause, ContextStatus};

use super::documents::{CredentialDocument, Material, Snapshot};
use super::path::Place;

/// Why a user has no credential for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The cluster has not issued it yet.
    #[error("it is not issued yet{}", shown(.cause.as_ref()))]
    NotIssued {
        /// Why not, and when the next try is; none while nothing is known to hinder it.
        cause: Option<Cause>,
    },
    /// What the cluster issued is not what was asked for.
    #[error("what the cluster issued is refused: {0}")]
    Refused(CertificateRefused),
    /// The token is over.
    #[error("the token ended at {at}")]
    Expired {
        /// When it ended.
        at: Timestamp,
    },
}

fn shown(cause: Option<&Cause>) -> String {
    let Some(cause) = cause else { return String::new() };
    let object = cause.object.iter().map(|key| format!("{key}: "));
    let next_try = cause.next_try.iter().map(|next_try| format!("; next try at {next_try}"));
    format!(" ({}{}{})", object.collect::<String>(), cause.message, next_try.collect::<String>())
}

/// What a cluster issued, checked.
pub(super) enum Checked {
    Certificate { pem: Arc<str>, facts: CertificateFacts },
    Token { token: Secret, expires: Timestamp },
}

/// What there is to know about the credentials of a cloud that is on clusters.
pub(super) struct Credentials<'a> {
    pub(super) place: &'a Place,
    pub(super) snapshot: &'a Snapshot,
    pub(super) results: &'a Results,
    pub(super) status: Option<&'a ContextStatus>,
    pub(super) now: Timestamp,
}

impl Credentials<'_> {
    /// What a cluster issued for a user's credential.
    pub(super) fn of(
        &self,
        user: &UserName,
        document: Option<&CredentialDocument>,
        cluster: &ClusterId,
    ) -> Result<Checked, Missing> {
        // Another credential than the snapshot's is one that is about to be applied.
        let wanted = self.snapshot.credentials.get(user);
        let document = document.filter(|document| Some(&document.id) == wanted);
        let document = document.ok_or(Missing::NotIssued { cause: None })?;
        let step = step(document);
        match self.results.get(cluster).and_then(|results| results.get(&step)) {
            Some(issued) => self.check(document, issued),
            None => Err(Missing::NotIssued { cause: self.cause(cluster, &step) }),
        }
    }

    fn check(&self, document: &CredentialDocument, issued: &Issued) -> Result<Checked, Missing> {
        match (issued, &document.material) {
            (Issued::Certificate { pem }, Material::Certificate { request, .. }) => {
                let subject = self.place.identity().subject(&document.user, document.id.epoch);
                let expected = Expected {
                    request_pem: request.as_str(),
                    subject: &subject,
                    lifetime_seconds: document.lifetime_seconds,
                    now: self.now,
                };
                let facts = pki::check_certificate(pem, &expected).map_err(Missing::Refused)?;
                Ok(Checked::Certificate { pem: pem.clone(), facts })
            }
            (Issued::Token { expires, .. }, Material::Token) if *expires <= self.now => {
                Err(Missing::Expired { at: *expires })
            }
            (Issued::Token { token, expires }, Material::Token) => {
                Ok(Checked::Token { token: token.clone(), expires: *expires })
            }
            // The step's name says the type, so a result of another type was not made for this credential.
            (Issued::Certificate { .. } | Issued::Token { .. }, _) => Err(Missing::NotIssued { cause: None }),
        }
    }

    /// Why a step is not done: its own cause, or that of the whole cluster; never that of another object.
    fn cause(&self, cluster: &ClusterId, step: &Arc<str>) -> Option<Cause> {
        let lane = self.status?.lanes.get(cluster)?;
        let own = lane.requests.iter().find(|request| request.name == *step);
        let of_cluster = lane.cause.as_ref().filter(|cause| cause.object.is_none());
        own.and_then(|request| request.cause.as_ref()).or(of_cluster).cloned()
    }
}

/// The name of the request for a credential.
pub(super) fn step(document: &CredentialDocument) -> Arc<str> {
    let CredentialDocument { user, id, material, .. } = document;
    match material {
        Material::Certificate { .. } | Material::Retired => {
            naming::certificate_step(user, id.epoch, id.serial)
        }
        Material::Token => naming::token_step(user, id.epoch, id.serial),
    }
}
