//! Looking for orphans, and clearing them.

mod looking;

use std::collections::BTreeMap;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::audit::{About, Action, Decision};
use dcm_core::port::cluster::{self, Cluster, Object, Origin};
use dcm_core::port::synchronizer::Disposal;
use dcm_core::service::{Caller, Cleared, Orphan, OrphanError, Orphans};
use dcm_sync::planning::LOOKS_AT_ONCE_MAX;
use futures::stream::{self, StreamExt as _};

use crate::deployment::Deployment;
use looking::Found;

impl Deployment {
    /// The orphans on several clusters, looked for on all of them at once.
    pub async fn orphans_on(
        &self,
        clusters: impl IntoIterator<Item = ClusterId>,
    ) -> BTreeMap<ClusterId, Result<Orphans, OrphanError>> {
        let looks = clusters.into_iter().map(|cluster| async move {
            let found = self.orphans(&cluster).await;
            (cluster, found)
        });
        // Made before they are begun: one that borrows while it is made can't be sent to another thread.
        let looks: Vec<_> = looks.collect();
        stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE_MAX).collect().await
    }

    /// The orphans on a cluster. A kind that the cluster lacks has none.
    ///
    /// # Errors
    /// [`OrphanError`].
    pub(crate) async fn orphans(&self, cluster: &ClusterId) -> Result<Orphans, OrphanError> {
        let reached = self.reach(cluster).await?;
        let Found { objects, unseen } = self.orphaned(&*reached, None).await?;
        let orphans = objects.into_iter().map(|(context, object)| orphan(context, &object, None)).collect();
        Ok(Orphans { orphans, unseen })
    }

    /// Removes the orphans of one app context from a cluster, or releases them: then they are nobody's, and a logical
    /// cloud whose document says so can adopt its namespace. Bindings are removed in any case: rights end with a cloud.
    ///
    /// # Errors
    /// [`OrphanError`].
    pub(crate) async fn clear_orphans(
        &self,
        caller: &Caller,
        cluster: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Orphans, OrphanError> {
        let detail = match disposal {
            Disposal::Delete => "delete",
            Disposal::Keep => "release",
        };
        let about = About { cluster: Some(cluster.clone()), detail: detail.to_owned(), ..About::default() };
        let asked = caller.decision(self.clock().now(), Action::ClearOrphans, about);
        let decision = Decision { context: Some(context.clone()), ..asked };
        self.kept(decision, self.clear_all(cluster, context, disposal)).await
    }

    async fn clear_all(
        &self,
        cluster: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Orphans, OrphanError> {
        let reached = self.reach(cluster).await?;
        let Found { objects, unseen } = self.orphaned(&*reached, Some(context)).await?;
        let mut orphans = Vec::new();
        for (found, object) in objects {
            let cleared = self.clear(&*reached, &object, disposal).await;
            let failed = |source| OrphanError::Object { object: object.key.clone(), source };
            orphans.push(orphan(found, &object, Some(cleared.map_err(failed)?)));
        }
        Ok(Orphans { orphans, unseen })
    }

    async fn clear(
        &self,
        cluster: &dyn Cluster,
        object: &Object,
        disposal: Disposal,
    ) -> Result<Cleared, cluster::Error> {
        let call = self.call();
        let observed = dcm_core::plan::Sighting::of(object, None).precondition();
        let origin = object.marks.as_ref().map(|marks| marks.origin).unwrap_or_default();
        // Rights that nobody can take away any more are not to stay.
        let stays = (disposal == Disposal::Keep && !object.key.is_binding())
            || origin == Origin::Adopted
            || (object.kind.is_namespace()
                && cluster.contents(&call, &object.key.name, None).await?.count > 0);
        if stays {
            cluster.release(&call, &object.kind, &object.key, &observed, origin).await?;
            return Ok(Cleared::Released);
        }
        match cluster.delete(&call, &object.kind, &object.key, &observed).await {
            Ok(_) | Err(cluster::Error::NotFound) => Ok(Cleared::Deleted),
            Err(error) => Err(error),
        }
    }
}

fn orphan(context: ContextId, object: &Object, cleared: Option<Cleared>) -> Orphan {
    let generation = object.marks.as_ref().map(|marks| marks.generation).unwrap_or_default();
    Orphan { context, object: object.key.clone(), generation, cleared }
}
