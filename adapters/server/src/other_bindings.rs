//! Bindings of other clients that name an identity of a logical cloud without rights of ours.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName, UserName};
use dcm_core::port::audit::{About, Action};
use dcm_core::port::cluster::Error;
use dcm_core::port::proof::ProofKey;
use dcm_core::service::{self, Caller, Clearing, Lapsed, OtherBindings, OtherBindingsReport};
use dcm_sync::planning::LOOKS_AT_ONCE_MAX;
use futures::stream::{self, StreamExt as _};

use crate::deployment::Deployment;

impl Deployment {
    /// Looks for [such bindings](Lapsed::other_bindings) on all clusters of a logical cloud, [`LOOKS_AT_ONCE_MAX`] at once. Of a cluster
    /// that does not answer, it is unknown whether it has any.
    pub(crate) async fn other_bindings(
        &self,
        lapsed: &Lapsed,
        clearing: Clearing,
    ) -> BTreeMap<ClusterId, Result<OtherBindings, Error>> {
        // If the store fails, our bindings are listed, too: better too many than too few. Nothing is removed then.
        let proofs = self.contexts().proof_key().await.ok().flatten();
        let proofs = proofs.as_ref();
        let looks = lapsed.clusters.iter().map(|id| async move {
            let found = self.other_bindings_on(lapsed, id, proofs, clearing).await;
            (id.clone(), found)
        });
        // Made before they are begun: one that borrows while it is made can't be sent to another thread.
        let looks: Vec<_> = looks.collect();
        stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE_MAX).collect().await
    }

    async fn other_bindings_on(
        &self,
        lapsed: &Lapsed,
        id: &ClusterId,
        proofs: Option<&ProofKey>,
        clearing: Clearing,
    ) -> Result<OtherBindings, Error> {
        let cluster = self.reach(id).await?;
        lapsed.other_bindings(&*cluster, &self.call(), proofs, clearing).await
    }

    /// Removes the identities of a logical cloud, or of one of its users, from such bindings, and keeps that in the audit log.
    pub(crate) async fn remove_other_bindings(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        user: Option<&UserName>,
    ) -> Result<OtherBindingsReport, service::Error> {
        let about = About {
            project: Some(project.clone()),
            cloud: Some(cloud.clone()),
            users: user.cloned().into_iter().collect::<BTreeSet<_>>(),
            ..About::default()
        };
        let decision = caller.decision(self.clock().now(), Action::RemoveBindings, about);
        let removing = async {
            let lapsed = self.clouds().lapsed(project, cloud, user).await?;
            let others = self.other_bindings(&lapsed, Clearing::Remove).await;
            Ok(OtherBindingsReport::of(others))
        };
        self.kept(decision, Box::pin(removing)).await
    }
}
