//! What is to be done about the credentials of one cloud, and when to look again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::logical_cloud::LogicalCloud;
use crate::manifest::ObjectKey;
use crate::name::{ClusterId, UserName};
use crate::pki::CertificateRefused;
use crate::status::{Cause, Reason};

use super::credentials::StoredCredentials;
use super::documents::{CredentialDocument, Material};
use super::issued::{Checked, Credentials, Missing};

/// Two renewals of one user are at least so far apart: were a cluster's clock far behind ours, all that it issues would
/// seem to be due at once.
pub(super) const RENEWAL_PAUSE: SignedDuration = SignedDuration::from_mins(2);

/// While a cluster has not issued, it is looked at again after as long as the credential is old, and at the latest after
/// this part of the shortest life that is known.
const LOOK_PART: i32 = 10;
/// The shortest and the longest time until then. The shortest life is 600 seconds, so it is always renewed in time.
const LOOK_MIN: SignedDuration = SignedDuration::from_secs(30);
const LOOK_MAX: SignedDuration = SignedDuration::from_hours(1);

/// The end of a user's credentials is near, and no newer ones are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CredentialEnding"))]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// When the first of them ends; in the past when it has.
    pub at: Timestamp,
    /// On which cluster that is.
    pub cluster: ClusterId,
    /// On how many clusters an end is near.
    pub clusters: usize,
    /// True when only the user can renew it, because the user keeps the key.
    pub needs_user: bool,
}

/// What is to be done about a user's credentials, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outlook {
    /// When they are to be renewed; none when nothing that could be is issued.
    pub(super) renewal: Option<Timestamp>,
    /// What is to be warned of now.
    pub(super) ending: Option<Ending>,
    /// When the first of what is handed out ends, or ended; none when nothing is.
    pub(super) first_end: Option<Timestamp>,
    /// A cluster has not issued what is newest.
    pub(super) is_pending: bool,
    /// When the next look is worth it, the renewal aside.
    look: Timestamp,
}

impl Outlook {
    /// When there is something to do at the latest.
    pub(super) fn next(&self) -> Timestamp {
        self.renewal.map_or(self.look, |renewal| renewal.min(self.look))
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.renewal.is_some_and(|renewal| renewal <= now)
    }
}

/// The outlook of each user of a cloud that is on clusters.
pub(super) fn of_all(
    cloud: &LogicalCloud,
    stored: &StoredCredentials,
    credentials: &Credentials<'_>,
) -> BTreeMap<UserName, Outlook> {
    let of = |user: &UserName| {
        let document = &stored.get(user)?.document;
        let found = cloud.references().iter().map(|reference| {
            let cluster = &reference.cluster;
            (cluster.clone(), credentials.of(user, Some(document), cluster))
        });
        Some((user.clone(), of_user(document, credentials.now, &found.collect())))
    };
    credentials.snapshot.credentials.keys().filter_map(of).collect()
}

/// The outlook of one user, from what each cluster issued.
pub(super) fn of_user(
    document: &CredentialDocument,
    now: Timestamp,
    found: &BTreeMap<ClusterId, Result<Checked, Missing>>,
) -> Outlook {
    let mut look = Looking::new(document, now);
    for (cluster, found) in found {
        match found {
            Ok(checked) => look.issued(cluster, checked),
            Err(missing) => look.missing(missing, Some(cluster)),
        }
    }
    look.finish()
}

/// A look at what the clusters issued for a user.
struct Looking<'a> {
    document: &'a CredentialDocument,
    now: Timestamp,
    renewal: Option<Timestamp>,
    ending: Option<Ending>,
    first_end: Option<Timestamp>,
    next: Timestamp,
    is_pending: bool,
    shortest: Option<SignedDuration>,
}

impl<'a> Looking<'a> {
    fn new(document: &'a CredentialDocument, now: Timestamp) -> Self {
        let asked = document.lifetime_seconds.map(|seconds| SignedDuration::from_secs(seconds.into()));
        Self {
            document,
            now,
            renewal: None,
            ending: None,
            first_end: None,
            next: Timestamp::MAX,
            is_pending: false,
            shortest: asked,
        }
    }

    fn issued(&mut self, cluster: &ClusterId, checked: &Checked) {
        let validity = checked.validity;
        self.ends(validity.not_after);
        self.shortest = self.shortest.into_iter().chain(validity.length()).min();
        match &checked.newer {
            Some(newer) => self.missing(newer, None),
            None => self.renew(validity.renewal(self.document.renewal_delay)),
        }
        let warning = match self.needs_user() {
            true => validity.renewal(0),
            false => validity.warning(),
        };
        if warning <= self.now {
            self.warn(cluster, validity.not_after);
        } else {
            self.next = self.next.min(warning);
        }
    }

    /// The newest is not there. The cluster is given where nothing else is good there.
    fn missing(&mut self, missing: &Missing, cluster: Option<&ClusterId>) {
        match missing {
            Missing::Expired { at } | Missing::Refused(CertificateRefused::Expired { not_after: at, .. }) => {
                self.renew(Timestamp::MIN);
                if let Some(cluster) = cluster {
                    self.ends(*at);
                    self.warn(cluster, *at);
                }
            }
            Missing::NotIssued { cause } => {
                self.is_pending = true;
                if cause.as_ref().is_some_and(is_name_taken) {
                    self.replace(Timestamp::MIN);
                }
            }
            // It stays refused, and so would another one; where a cluster is has nothing to do with what it issued.
            Missing::Refused(_) | Missing::Awaited | Missing::Unlocated { .. } => {}
        }
    }

    /// True when only the user can make another one.
    fn needs_user(&self) -> bool {
        matches!(self.document.material, Material::Certificate { key: None, .. })
    }

    fn renew(&mut self, at: Timestamp) {
        if self.document.material.is_renewable() {
            self.replace(at);
        }
    }

    /// The next credential is due at this time.
    fn replace(&mut self, at: Timestamp) {
        let earliest = self.document.changed.at.saturating_add(RENEWAL_PAUSE).unwrap_or(Timestamp::MAX);
        let at = at.max(earliest);
        self.renewal = Some(self.renewal.map_or(at, |renewal| renewal.min(at)));
    }

    fn ends(&mut self, at: Timestamp) {
        self.first_end = Some(self.first_end.map_or(at, |first| first.min(at)));
    }

    fn warn(&mut self, cluster: &ClusterId, at: Timestamp) {
        let needs_user = self.needs_user();
        let ending = self.ending.get_or_insert_with(|| Ending {
            at,
            cluster: cluster.clone(),
            clusters: 0,
            needs_user,
        });
        ending.clusters += 1;
        if at < ending.at {
            ending.at = at;
            ending.cluster = cluster.clone();
        }
    }

    fn finish(self) -> Outlook {
        let latest = self.shortest.map_or(LOOK_MAX, |life| life / LOOK_PART).clamp(LOOK_MIN, LOOK_MAX);
        // What is new is looked at often: its name on a cluster may be taken. A cluster that is away for days is not.
        let soon = self.now.duration_since(self.document.changed.at).clamp(LOOK_MIN, latest);
        let again = self.now.saturating_add(soon).unwrap_or(Timestamp::MAX);
        let look = if self.is_pending { self.next.min(again) } else { self.next };
        let Self { renewal, ending, first_end, is_pending, .. } = self;
        Outlook { renewal, ending, first_end, is_pending, look }
    }
}

/// True where a cluster has another object in the place of the request for a certificate. Only a credential with another
/// name gets past that.
fn is_name_taken(cause: &Cause) -> bool {
    let is_request = |key: &ObjectKey| &*key.kind == "CertificateSigningRequest";
    cause.reason == Reason::Foreign && cause.object.as_ref().is_some_and(is_request)
}
