//! What clusters issued for a user: found, checked, or the reason why it can't be handed out.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::kubeconfig::Credential;
use crate::name::{ClusterId, UserName};
use crate::pki::{self, CLOCK_SKEW_SECONDS_MAX, CertificateFacts, CertificateRefused, Expected};
use crate::port::synchronizer::{Issued, Results};
use crate::render::naming;
use crate::status::{Cause, ContextStatus};

use super::documents::{CredentialDocument, CredentialId, Material, OneCredential, Snapshot};
use super::path::Place;
use super::validity::Validity;

/// Why a user has no credential for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The cluster has not issued it yet.
    #[error("it is not issued yet{}", shown(.cause.as_ref()))]
    NotIssued {
        /// Why not, and when the next try is; none while nothing is known to hinder it.
        cause: Option<Cause>,
    },
    /// The user keeps the key, and has not brought a request since the revocation.
    #[error("the user was revoked and keeps the key: a new certificate request is needed")]
    Awaited,
    /// What the cluster issued is not what was asked for.
    #[error("what the cluster issued is refused: {0}")]
    Refused(CertificateRefused),
    /// The token is over.
    #[error("the token ended at {at}")]
    Expired {
        /// When it ended.
        at: Timestamp,
    },
    /// It is issued, and what is registered of the cluster does not say where that is.
    #[error("it is not known where the cluster is: {reason}")]
    Unlocated {
        /// What is wrong with the registration, without its content.
        reason: String,
    },
}

fn shown(cause: Option<&Cause>) -> String {
    let Some(cause) = cause else { return String::new() };
    let object = cause.object.iter().map(|key| format!("{key}: "));
    let next_try = cause.next_try.iter().map(|next_try| format!("; next try at {next_try}"));
    format!(" ({}{}{})", object.collect::<String>(), cause.message, next_try.collect::<String>())
}

/// What a cluster issued, checked.
pub(super) struct Checked {
    /// Which credential it is.
    pub(super) id: CredentialId,
    /// What the user shows to the cluster.
    pub(super) credential: Credential,
    pub(super) validity: Validity,
    /// It lives shorter than what was asked for.
    pub(super) is_shortened: bool,
    /// The cluster was seen to accept it.
    pub(super) is_tried: bool,
    /// Why it is not the newest credential; none when it is.
    pub(super) newer: Option<Missing>,
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
    /// What a cluster issued for a user: the newest that is good.
    pub(super) fn of(
        &self,
        user: &UserName,
        document: Option<&CredentialDocument>,
        cluster: &ClusterId,
    ) -> Result<Checked, Missing> {
        let mut candidates = document.into_iter().flat_map(|document| wanted(self.snapshot, document));
        let newest = candidates.next().ok_or(Missing::NotIssued { cause: None })?;
        let missing = match self.one(user, newest, cluster) {
            Ok(checked) => return Ok(checked),
            Err(missing) => missing,
        };
        match candidates.find_map(|earlier| self.one(user, earlier, cluster).ok()) {
            Some(earlier) => Ok(Checked { newer: Some(missing), ..earlier }),
            None => Err(missing),
        }
    }

    /// What a cluster issued for one credential.
    fn one(
        &self,
        user: &UserName,
        credential: OneCredential<'_>,
        cluster: &ClusterId,
    ) -> Result<Checked, Missing> {
        if *credential.material == Material::Awaited {
            return Err(Missing::Awaited);
        }
        let step = step(user, credential);
        match self.results.get(cluster).and_then(|results| results.get(&step)) {
            Some(issued) => self.check(user, credential, issued),
            None => Err(Missing::NotIssued { cause: self.cause(cluster, &step) }),
        }
    }

    fn check(
        &self,
        user: &UserName,
        OneCredential { id, lifetime_seconds, material }: OneCredential<'_>,
        issued: &Issued,
    ) -> Result<Checked, Missing> {
        match (issued, material) {
            (Issued::Certificate { pem, received, tried }, Material::Certificate { request, key, .. }) => {
                let subject = self.place.identity().subject(user, id.epoch);
                let expected = Expected {
                    request_pem: request.as_str(),
                    subject: &subject,
                    lifetime_seconds,
                    now: self.now,
                };
                let facts = pki::check_certificate(pem, &expected).map_err(Missing::Refused)?;
                let CertificateFacts { not_before, not_after, is_shortened, .. } = facts;
                let credential = Credential::Certificate { certificate: pem.to_string(), key: key.clone() };
                let validity = Validity { not_before: Some(not_before), received: *received, not_after };
                Ok(Checked { id, credential, validity, is_shortened, is_tried: *tried, newer: None })
            }
            (Issued::Token { expires, .. }, Material::Token) if *expires <= self.now => {
                Err(Missing::Expired { at: *expires })
            }
            (Issued::Token { token, expires, received, tried }, Material::Token) => {
                let is_shortened = is_token_shortened(lifetime_seconds, *received, *expires);
                let credential = Credential::Token(token.clone());
                let validity = Validity { not_before: None, received: *received, not_after: *expires };
                Ok(Checked { id, credential, validity, is_shortened, is_tried: *tried, newer: None })
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

/// True when a token ends earlier than was asked for, by more than clocks may be apart. When it was asked for is not known where
/// it was received before that was kept.
fn is_token_shortened(asked_seconds: Option<i32>, received: Option<Timestamp>, expires: Timestamp) -> bool {
    let skew = SignedDuration::from_secs(CLOCK_SKEW_SECONDS_MAX);
    asked_seconds.zip(received).is_some_and(|(asked, received)| {
        expires.duration_since(received) + skew < SignedDuration::from_secs(asked.into())
    })
}

/// The credentials of a user that are good where they are issued, the newest first: the snapshot's, and earlier ones of
/// the same identity. A later one is about to be applied.
pub(super) fn wanted<'a>(
    snapshot: &Snapshot,
    document: &'a CredentialDocument,
) -> impl Iterator<Item = OneCredential<'a>> + use<'a> {
    let wanted = snapshot.credentials.get(&document.user).copied();
    let is_wanted =
        move |id: CredentialId| wanted.is_some_and(|wanted| id.epoch == wanted.epoch && id <= wanted);
    document.each().filter(move |one| is_wanted(one.id))
}

/// The name of the request for a credential.
pub(super) fn step(user: &UserName, OneCredential { id, material, .. }: OneCredential<'_>) -> Arc<str> {
    match material {
        Material::Certificate { .. } | Material::Awaited | Material::Retired => {
            naming::certificate_step(user, id.epoch, id.serial)
        }
        Material::Token => naming::token_step(user, id.epoch, id.serial),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_ends_much_earlier_than_asked_is_shortened() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let is_shortened = |asked, end| is_token_shortened(asked, Some(at(0)), at(end));
        assert!(is_shortened(Some(86_400), 3600));
        assert!(!is_shortened(Some(3600), 3600 - CLOCK_SKEW_SECONDS_MAX), "clocks may be apart");
        assert!(is_shortened(Some(3600), 3599 - CLOCK_SKEW_SECONDS_MAX));
        assert!(!is_shortened(None, 600), "the cluster was free to choose");
        assert!(!is_token_shortened(Some(86_400), None, at(3600)), "it is not known when it began");
    }
}
