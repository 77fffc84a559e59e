//! How the credentials of a logical cloud's users are: what each cluster gave, when it ends, and what becomes of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::causes::Reader;
use crate::logical_cloud::{Epoch, Serial};
use crate::name::{ClusterId, UserName};
use crate::status::{Cause, ContextStatus};

use super::caller::Change;
use super::credentials;
use super::documents::{CredentialDocument, Material};
use super::error::Error;
use super::issued::{Checked, Credentials, Missing};
use super::load::Frozen;
use super::logical_clouds::LogicalClouds;
use super::outlook::{self, Ending};
use super::path::Place;

/// The credential of one user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CredentialStatus {
    /// The type: `certificate` or `token`.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The user's identity.
    pub epoch: Epoch,
    /// Which credential of it is the newest.
    pub serial: Serial,
    /// True when the user brought the request and keeps the key.
    pub is_own_request: bool,
    /// Whose call made it.
    pub made: Change,
    /// When a worker renews it; none where nobody but the user can, and while nothing is issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Timestamp>,
    /// An end is near, or has come, and nothing newer is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Clusters of which the user has a kubeconfig with another address or other authorities than are registered now: the
    /// user has to fetch it again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub outdated: BTreeSet<ClusterId>,
    /// What each cluster gave for it.
    pub clusters: BTreeMap<ClusterId, Issuance>,
}

/// What a cluster gave for a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "state")]
pub enum Issuance {
    /// It can be handed out.
    Issued {
        /// Which credential it is.
        serial: Serial,
        /// It begins; tokens don't say.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
        /// It ends.
        not_after: Timestamp,
        /// It lives shorter than what was asked for.
        is_shortened: bool,
        /// The cluster was seen to accept it. False where it could not be tried, as the user keeps the private key.
        is_tried: bool,
        /// Why the newest is not there yet, in words; none when this is the newest.
        #[serde(skip_serializing_if = "Option::is_none")]
        newer: Option<String>,
    },
    /// There is nothing to hand out.
    Missing {
        /// Why not, in words.
        message: String,
        /// What hinders the cluster, when it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
}

impl CredentialStatus {
    /// Leaves out of all causes what a reader may not read.
    pub fn restrict_to(&mut self, reader: Reader) {
        for issuance in self.clusters.values_mut() {
            if let Issuance::Missing { cause: Some(cause), .. } = issuance {
                cause.restrict_to(reader);
            }
        }
    }
}

impl LogicalClouds {
    /// The credentials of the users that are applied.
    pub(super) async fn credential_statuses(
        &self,
        place: &Place,
        Frozen { snapshot, cloud }: &Frozen,
        status: Option<&ContextStatus>,
    ) -> Result<BTreeMap<UserName, CredentialStatus>, Error> {
        let results = self.results(place).await?;
        let stored = credentials::list(&*self.documents, place).await?;
        let outdated = self.outdated(place, cloud).await?;
        let now = self.clock.now();
        let issued = Credentials { place, snapshot, results: &results, status, now };
        let of_user = |user: &UserName| {
            let document = &stored.get(user)?.document;
            let clusters = cloud.references().iter().map(|reference| {
                let cluster = &reference.cluster;
                (cluster.clone(), issued.of(user, Some(document), cluster))
            });
            let outdated = outdated.get(user).cloned().unwrap_or_default();
            let status = of_one(document, now, &clusters.collect());
            Some((user.clone(), CredentialStatus { outdated, ..status }))
        };
        Ok(snapshot.credentials.keys().filter_map(of_user).collect())
    }
}

fn of_one(
    document: &CredentialDocument,
    now: Timestamp,
    found: &BTreeMap<ClusterId, Result<Checked, Missing>>,
) -> CredentialStatus {
    let (kind, is_own_request) = match &document.material {
        Material::Certificate { key, .. } => ("certificate", key.is_none()),
        Material::Awaited => ("certificate", true),
        Material::Token => ("token", false),
        Material::Retired => ("retired", false),
    };
    let outlook = outlook::of_user(document, now, found);
    CredentialStatus {
        kind: kind.into(),
        epoch: document.id.epoch,
        serial: document.id.serial,
        is_own_request,
        made: document.changed.clone(),
        renewal: outlook.renewal,
        ending: outlook.ending,
        outdated: BTreeSet::new(),
        clusters: found.iter().map(|(cluster, found)| (cluster.clone(), issuance(found))).collect(),
    }
}

fn issuance(found: &Result<Checked, Missing>) -> Issuance {
    match found {
        Ok(Checked { id, validity, is_shortened, is_tried, newer, .. }) => Issuance::Issued {
            serial: id.serial,
            not_before: validity.not_before,
            not_after: validity.not_after,
            is_shortened: *is_shortened,
            is_tried: *is_tried,
            newer: newer.as_ref().map(ToString::to_string),
        },
        Err(missing) => Issuance::Missing {
            message: missing.to_string(),
            cause: match missing {
                Missing::NotIssued { cause } => cause.clone(),
                Missing::Awaited
                | Missing::Refused(_)
                | Missing::Expired { .. }
                | Missing::Unlocated { .. } => None,
            },
        },
    }
}
