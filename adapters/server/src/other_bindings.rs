//! Bindings of other clients that name an identity of a logical cloud without rights of ours.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::causes::{self, Reader};
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
    ) -> BTreeMap<ClusterId, Result<OtherBindings, Error>> {
        // If the store fails, our bindings are listed, too: better too many than too few.
        let proofs = self.contexts().proof_key().await.ok().flatten();
        let proofs = proofs.as_ref();
        let looks = lapsed.clusters.iter().map(|id| async move {
            let found = self.other_bindings_on(lapsed, id, proofs, Clearing::List).await;
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

    /// Removes the identities of a logical cloud, or of one of its users, that have no right of ours from the bindings of other clients,
    /// and records that in the audit log.
    pub(crate) async fn remove_other_bindings(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        user: Option<&UserName>,
        reader: Reader,
    ) -> Result<OtherBindingsReport, service::Error> {
        let about = About {
            project: Some(project.clone()),
            cloud: Some(cloud.clone()),
            users: user.cloned().into_iter().collect::<BTreeSet<_>>(),
            ..About::default()
        };
        let decision = caller.decision(self.clock().now(), Action::RemoveBindings, about);
        let removing = async {
            let lapsed = &self.clouds().lapsed(project, cloud, user).await?;
            let proofs = self.contexts().proof_key().await.map_err(service::Error::Synchronizer)?;
            let proofs = proofs.as_ref();
            let removals = lapsed.clusters.iter().map(|id| async move {
                let removed = match self.in_use(project, cloud, lapsed).await {
                    None => self.other_bindings_on(lapsed, id, proofs, Clearing::Remove).await,
                    Some(reason) => {
                        Err(Error::Unsupported { what: format!("removing identities: {reason}") })
                    }
                };
                (id.clone(), removed)
            });
            // Made before they are begun: one that borrows while it is made can't be sent to another thread.
            let removals: Vec<_> = removals.collect();
            let others = stream::iter(removals).buffer_unordered(LOOKS_AT_ONCE_MAX).collect().await;
            Ok(OtherBindingsReport::of(others, reader))
        };
        self.kept(decision, Box::pin(removing)).await
    }

    /// Why the identities may be in use again; none while they are not. The removal from other clusters can have taken minutes.
    async fn in_use(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        lapsed: &Lapsed,
    ) -> Option<String> {
        match self.clouds().have_lapsed(project, cloud, lapsed).await {
            Ok(true) => None,
            Ok(false) => Some("they are in use again, as the logical cloud was applied meanwhile".to_owned()),
            Err(error) => {
                tracing::error!(error = causes::told(&error), "identities are not removed from bindings");
                Some(error.to_string())
            }
        }
    }
}
