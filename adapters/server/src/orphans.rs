//! Orphans: objects on a cluster that carry our owner's mark, of app contexts that the store does not know. A store that
//! was lost leaves them. The engine never touches them; they are removed or released only when a person says so.

use std::collections::BTreeMap;

use dcm_core::app_context::Generation;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::audit::{About, Action, Decision};
use dcm_core::port::cluster::{self, Cluster, Object, Origin, Selection, WatchEvent};
use dcm_core::port::store;
use dcm_core::port::synchronizer::{self, Disposal};
use dcm_core::service::Caller;
use futures::StreamExt as _;
use serde::Serialize;

use crate::deployment::Deployment;

/// The kinds that are looked through, in the order in which they are cleared: rights end before what they are about,
/// and a namespace goes last. What else a logical cloud brought lies in its namespace.
const KINDS: [(&str, &str); 11] = [
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "Role"),
    ("", "ServiceAccount"),
    ("", "ConfigMap"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("", "Namespace"),
];

/// Why orphans can't be listed or cleared.
#[derive(Debug, thiserror::Error)]
pub enum OrphanError {
    /// The cluster refused or failed.
    #[error("the cluster could not be looked through")]
    Cluster(#[from] cluster::Error),
    /// One of them could not be cleared; those before it were.
    #[error("{object} could not be cleared")]
    Object {
        /// Which one.
        object: ObjectKey,
        /// What happened.
        #[source]
        source: cluster::Error,
    },
    /// The store failed.
    #[error("the store could not be asked")]
    Store(#[from] synchronizer::Error),
}

impl From<store::Error> for OrphanError {
    fn from(error: store::Error) -> Self {
        Self::Store(error.into())
    }
}

/// An object of an app context that the store does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphan {
    /// The app context, by the mark.
    pub context: ContextId,
    /// The object.
    pub object: ObjectKey,
    /// The generation in which it was last written.
    pub generation: Generation,
    /// What was done to it; none when it was only listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Cleared>,
}

/// What was done to an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cleared {
    /// It was deleted.
    Deleted,
    /// Our marks were taken off, and it stays: that was asked for, it was there before us, or it is a namespace with
    /// objects of others.
    Released,
}

impl Deployment {
    /// The orphans on a cluster. A kind that the cluster lacks, or does not show us, has none.
    ///
    /// # Errors
    /// [`OrphanError`].
    pub async fn orphans(&self, cluster: &ClusterId) -> Result<Vec<Orphan>, OrphanError> {
        let reached = self.clusters().connect(cluster).await?;
        let found = self.orphaned(&*reached).await?;
        Ok(found.into_iter().map(|(context, object)| orphan(context, &object, None)).collect())
    }

    /// Removes the orphans of one app context from a cluster, or releases them: then they are nobody's, and a logical
    /// cloud whose document says so can adopt its namespace.
    ///
    /// # Errors
    /// [`OrphanError`].
    pub async fn clear_orphans(
        &self,
        caller: &Caller,
        cluster: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Vec<Orphan>, OrphanError> {
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
    ) -> Result<Vec<Orphan>, OrphanError> {
        let reached = self.clusters().connect(cluster).await?;
        let mut orphans = Vec::new();
        for (found, object) in self.orphaned(&*reached).await? {
            if found == *context {
                let cleared = self.clear(&*reached, &object, disposal).await;
                let failed = |source| OrphanError::Object { object: object.key.clone(), source };
                orphans.push(orphan(found, &object, Some(cleared.map_err(failed)?)));
            }
        }
        Ok(orphans)
    }

    async fn orphaned(&self, cluster: &dyn Cluster) -> Result<Vec<(ContextId, Object)>, OrphanError> {
        let (mut orphans, mut known) = (Vec::new(), BTreeMap::new());
        for (group, kind) in KINDS {
            for object in self.owned(cluster, GroupVersionKind::new(group, "v1", kind)).await? {
                let Some(context) = object.marks.as_ref().map(|marks| marks.context.clone()) else {
                    continue;
                };
                let is_known = match known.get(&context) {
                    Some(is_known) => *is_known,
                    None => self.contexts().knows(&context).await?,
                };
                known.insert(context.clone(), is_known);
                if !is_known {
                    orphans.push((context, object));
                }
            }
        }
        Ok(orphans)
    }

    async fn owned(
        &self,
        cluster: &dyn Cluster,
        kind: GroupVersionKind,
    ) -> Result<Vec<Object>, cluster::Error> {
        let call = self.call();
        let selection = Selection { kind, owner: call.owner.clone() };
        let listed = match cluster.watch(&call, &selection).await {
            Ok(mut watch) => watch.next().await.transpose(),
            Err(error) => Err(error),
        };
        match listed {
            Ok(Some(WatchEvent::Listed(objects))) => Ok(objects),
            Ok(_) | Err(cluster::Error::UnknownKind { .. } | cluster::Error::Forbidden { .. }) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    async fn clear(
        &self,
        cluster: &dyn Cluster,
        object: &Object,
        disposal: Disposal,
    ) -> Result<Cleared, cluster::Error> {
        let call = self.call();
        let observed = dcm_core::plan::Sighting::of(object, None).precondition();
        let was_there = object.marks.as_ref().is_some_and(|marks| marks.origin == Origin::Adopted);
        let stays = disposal == Disposal::Keep
            || was_there
            || (object.kind.is_namespace() && cluster.contents(&call, &object.key.name).await?.count > 0);
        if stays {
            cluster.release(&call, &object.kind, &object.key, &observed).await?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_is_looked_through_once_and_namespaces_last() {
        assert_eq!(KINDS.iter().collect::<BTreeSet<_>>().len(), KINDS.len());
        assert_eq!(KINDS.last(), Some(&("", "Namespace")));
    }
}
