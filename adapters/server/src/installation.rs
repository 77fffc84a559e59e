//! What the API asks of a deployment beside its services.

use std::collections::BTreeMap;

use async_trait::async_trait;
use dcm_core::causes::{self, Reader};
use dcm_core::logical_cloud::Draft;
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};
use dcm_core::port::audit::{About, Action};
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::port::store;
use dcm_core::port::synchronizer::Disposal;
use dcm_core::preflight::{self, InspectError, Inspection, Needs, Other, Twin};
use dcm_core::service::{
    self, Applied, Caller, EditId, Lapsed, OrphanError, Orphans, OtherBindings, OtherBindingsReport,
    Precondition, Registration,
};
use dcm_rest::{Agreed, DeclareError, Declared, Installation, PlannedDraft};
use dcm_sync::planning::Rehearsing;

use crate::deployment::Deployment;

#[async_trait]
impl Installation for Deployment {
    async fn inspect(&self, registration: &Registration, needs: &Needs) -> Result<Inspection, InspectError> {
        let cluster = self.reach_as(registration).await?;
        let findings = preflight::check(&*cluster, &self.call(), needs, &**self.clock()).await?;
        let id = &registration.id;
        let known = self.contexts().cluster_uid(id).await?;
        let uid = match cluster.uid(&self.call()).await {
            // Then the right to see it is among the missing ones.
            Err(Error::Forbidden { .. }) if known.is_none() => None,
            uid => Some(uid?),
        };
        let other = known.zip(uid.clone()).and_then(|(known, found)| Other::of(known, found));
        let twin = match &uid {
            Some(uid) => self.twin_of(id, uid).await?,
            None => None,
        };
        let is_moved = self.registered().moves(registration).await.map_err(unread)?;
        Ok(Inspection { findings, uid, twin, other, is_moved })
    }

    async fn identify(
        &self,
        registration: &Registration,
    ) -> Result<(ClusterUid, Option<Other>), InspectError> {
        let uid = self.reach_as(registration).await?.uid(&self.call()).await?;
        let known = self.contexts().cluster_uid(&registration.id).await?;
        let other = known.and_then(|known| Other::of(known, uid.clone()));
        Ok((uid, other))
    }

    async fn accept(
        &self,
        caller: &Caller,
        registration: &Registration,
        uid: &ClusterUid,
    ) -> Result<(), service::Error> {
        let cluster = &registration.id;
        let about = About { cluster: Some(cluster.clone()), detail: uid.0.to_string(), ..About::default() };
        let decision = caller.decision(self.clock().now(), Action::AcceptCluster, about);
        let accepting = async {
            // First: workers connect as soon as the name stands for the other cluster.
            self.registered().accept_endpoint(registration, uid).await?;
            self.contexts().accept_cluster(cluster, uid).await.map_err(service::Error::Synchronizer)
        };
        self.kept(decision, accepting).await
    }

    async fn other_bindings(&self, lapsed: &Lapsed) -> BTreeMap<ClusterId, Result<OtherBindings, Error>> {
        Self::other_bindings(self, lapsed).await
    }

    async fn remove_other_bindings(
        &self,
        caller: &Caller,
        named: (&ProjectName, &LogicalCloudName),
        user: Option<&UserName>,
        reader: Reader,
    ) -> Result<OtherBindingsReport, service::Error> {
        Self::remove_other_bindings(self, caller, named, user, reader).await
    }

    async fn orphans(&self, cluster: &ClusterId) -> Result<Orphans, OrphanError> {
        Self::orphans(self, cluster).await
    }

    async fn plan_draft(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: &Draft,
        rehearsing: Rehearsing,
    ) -> Result<PlannedDraft, service::Error> {
        Self::plan_draft(self, caller, project, draft, rehearsing).await
    }

    async fn declare(
        &self,
        caller: &Caller,
        named: (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        condition: &Precondition<EditId>,
        agreed: Agreed,
    ) -> Result<Declared, DeclareError> {
        Self::declare(self, caller, named, draft, condition, agreed).await
    }

    async fn apply(
        &self,
        caller: &Caller,
        named: (&ProjectName, &LogicalCloudName),
        known: Option<Vec<EditId>>,
        agreed: Agreed,
    ) -> Result<Applied, DeclareError> {
        Self::apply(self, caller, named, known, agreed).await
    }

    async fn clear_orphans(
        &self,
        caller: &Caller,
        cluster: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Orphans, OrphanError> {
        Self::clear_orphans(self, caller, cluster, context, disposal).await
    }
}

impl Deployment {
    /// The other name under which a cluster is registered.
    async fn twin_of(&self, id: &ClusterId, uid: &ClusterUid) -> Result<Option<Twin>, InspectError> {
        let first = self.contexts().identity_holder(uid).await?.filter(|first| first != id);
        let Some(first) = first else { return Ok(None) };
        match self.registered().get(&first).await {
            // Left of a call that was cut off.
            Err(service::Error::NotFound { .. }) => Ok(None),
            _ => Ok(Some(Twin { first })),
        }
    }
}

/// Why it is not known whether an endpoint is accepted.
fn unread(error: service::Error) -> InspectError {
    let source = match error {
        service::Error::Synchronizer(source) => return InspectError::Store(source),
        service::Error::Store(source) | service::Error::Unreadable { source, .. } => source,
        error => store::Error::Invalid { reason: causes::told(&error) },
    };
    InspectError::Store(source.into())
}
