//! What became of a revocation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::causes::Reader;
use crate::name::{ClusterId, LogicalCloudName, ProjectName, UserName};
use crate::port::cluster::Error as ClusterError;
use crate::status::{Cause, ContextStatus, LaneStatus};

use super::documents::Root;
use super::error::Error;
use super::lapsed::{OtherBindings, OthersOnCluster};
use super::logical_clouds::LogicalClouds;
use super::revoke::Revoked;

/// What became of a revocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Revocation {
    /// What was revoked.
    #[serde(flatten)]
    pub revoked: Revoked,
    /// What became of it on each cluster.
    pub clusters: BTreeMap<ClusterId, RevokedOnCluster>,
}

/// What became of it on one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevokedOnCluster {
    /// The earlier identities have no right of ours any more.
    pub is_revoked: bool,
    /// What is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The bindings of other clients that name an earlier identity.
    #[serde(flatten)]
    pub others: OthersOnCluster,
}

impl Revoked {
    /// What became of it, for a reader: how far each cluster is, and which bindings of other clients were found there.
    #[must_use]
    pub fn report<'a>(
        self,
        others: BTreeMap<ClusterId, Result<OtherBindings, ClusterError>>,
        lane: impl Fn(&ClusterId) -> Option<&'a LaneStatus>,
        reader: Reader,
    ) -> Revocation {
        let on = |(id, others): (ClusterId, Result<OtherBindings, ClusterError>)| {
            let lane = lane(&id);
            let mut cause = lane.and_then(|lane| self.cause_in(lane).cloned());
            cause.iter_mut().for_each(|cause| cause.restrict_to(reader));
            let is_revoked = lane.is_some_and(|lane| self.is_done_in(lane));
            let on = RevokedOnCluster { is_revoked, cause, others: OthersOnCluster::of(others, reader) };
            (id, on)
        };
        let clusters = others.into_iter().map(on).collect();
        Revocation { revoked: self, clusters }
    }
}

impl LogicalClouds {
    /// What the revocations of a user have taken away so far, to be held against what clusters show: all identities before
    /// the one that is applied, and all that there were if the cloud is wanted on no cluster. And how far the cloud is on its clusters.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; errors of the store and the synchronizer.
    pub async fn revocation(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<(Revoked, Option<ContextStatus>), Error> {
        let standing = self.must_stand(project, cloud, user, Root::latest).await?;
        let id = standing.loaded.place.context_id();
        let context = self.synchronizer.status(&id).await.map_err(Error::Synchronizer)?;
        if standing.loaded.root.newest().is_none() {
            return Ok((Revoked::of_ended(&standing, user, context.as_ref())?, context));
        }
        let held = context.as_ref().map(|context| context.generation).unwrap_or_default();
        // What is being applied, or was cut off, may not be handed over yet: no cluster can have brought it about.
        let generation = if standing.loaded.root.applying.is_some() { held.next() } else { held };
        let epoch = standing.frozen.snapshot.credentials.get(user).map(|id| id.epoch);
        Ok((Revoked::of(&standing, user, epoch, generation)?, context))
    }
}
