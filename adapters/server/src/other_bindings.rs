//! Bindings of other people that name an identity that was revoked.

use std::collections::BTreeMap;

use dcm_core::name::ClusterId;
use dcm_core::port::cluster::Error;
use dcm_core::port::proof::ProofKey;
use dcm_core::service::{OtherBindings, Revoked};
use dcm_sync::planning::LOOKS_AT_ONCE_MAX;
use futures::stream::{self, StreamExt as _};

use crate::deployment::Deployment;

impl Deployment {
    /// Looks for [such bindings](Revoked::other_bindings) on all clusters of a revocation, [`LOOKS_AT_ONCE_MAX`] at once.
    /// Where one can't be looked at, it is not known whether there are any.
    pub(crate) async fn other_bindings(
        &self,
        revoked: &Revoked,
    ) -> BTreeMap<ClusterId, Result<OtherBindings, Error>> {
        // If the store fails, our bindings are listed, too: better too many than too few.
        let proofs = self.contexts().proof_key().await.ok().flatten();
        let proofs = proofs.as_ref();
        let looks = revoked.clusters.iter().map(|id| async move {
            let found = self.other_bindings_on(revoked, id, proofs).await;
            (id.clone(), found)
        });
        // Made before they are begun: one that borrows while it is made can't be sent to another thread.
        let looks: Vec<_> = looks.collect();
        stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE_MAX).collect().await
    }

    async fn other_bindings_on(
        &self,
        revoked: &Revoked,
        id: &ClusterId,
        proofs: Option<&ProofKey>,
    ) -> Result<OtherBindings, Error> {
        let cluster = self.reach(id).await?;
        revoked.other_bindings(&*cluster, &self.call(), proofs).await
    }
}
