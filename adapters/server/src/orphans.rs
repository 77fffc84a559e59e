//! Orphans: objects on a cluster that carry our owner's mark, of app contexts that the store does not know. A store that
//! was lost leaves them. The engine never touches them; they are removed or released only when a person says so.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::app_context::Generation;
use dcm_core::audit::{AuditedError, Told};
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::audit::{About, Action, Decision, Outcome};
use dcm_core::port::cluster::{self, Cluster, Object, Origin, Selection, WatchEvent};
use dcm_core::port::store;
use dcm_core::port::synchronizer::{self, Disposal};
use dcm_core::service::Caller;
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

use crate::deployment::Deployment;
use crate::planning::LOOKS_AT_ONCE_MAX;

/// The kinds that logical clouds are rendered to and that engines ask for certificates by, each `v1`, in the order in which
/// they are cleared: rights end before what they are about, and a namespace goes last. The other kinds, those of
/// extra manifests, the cluster tells; they go before [`LAST_KINDS`].
const FIRST_KINDS: [(&str, &str); 6] = [
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "Role"),
    ("", "ServiceAccount"),
];

/// See [`FIRST_KINDS`].
const LAST_KINDS: [(&str, &str); 3] = [("", "LimitRange"), ("", "ResourceQuota"), ("", "Namespace")];

/// How many kinds of one cluster are listed at once: some fifty are quick then, and it is far under what an API server takes
/// from one client.
const LISTS_AT_ONCE: usize = 8;

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
    /// The audit log could not be written, so nothing was cleared.
    #[error("the audit log could not be written, and nothing was cleared")]
    Audit(#[source] store::Error),
}

impl AuditedError for OrphanError {
    fn not_audited(source: store::Error) -> Self {
        Self::Audit(source)
    }

    fn is_refusal(&self) -> bool {
        match self {
            Self::Store(source) => source.is_refusal(),
            // Some may be cleared by then.
            Self::Cluster(_) | Self::Object { .. } | Self::Audit(_) => false,
        }
    }
}

/// What a cluster holds of app contexts that the store does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphans {
    /// The objects.
    pub orphans: Vec<Orphan>,
    /// What could not be looked through, and why: there may be more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}

impl Told for Orphans {
    fn outcome(&self) -> Outcome {
        Outcome::Accepted { generation: None }
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
    pub async fn orphans(&self, cluster: &ClusterId) -> Result<Orphans, OrphanError> {
        let reached = self.clusters().connect(cluster).await?;
        let Found { objects, unseen } = self.orphaned(&*reached).await?;
        let orphans = objects.into_iter().map(|(context, object)| orphan(context, &object, None)).collect();
        Ok(Orphans { orphans, unseen })
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
        let reached = self.clusters().connect(cluster).await?;
        let Found { objects, unseen } = self.orphaned(&*reached).await?;
        let mut orphans = Vec::new();
        for (found, object) in objects.into_iter().filter(|(found, _)| found == context) {
            let cleared = self.clear(&*reached, &object, disposal).await;
            let failed = |source| OrphanError::Object { object: object.key.clone(), source };
            orphans.push(orphan(found, &object, Some(cleared.map_err(failed)?)));
        }
        Ok(Orphans { orphans, unseen })
    }

    /// Looks through all kinds, and gives what is found in the order in which it is cleared.
    async fn orphaned(&self, cluster: &dyn Cluster) -> Result<Found, OrphanError> {
        let mut found = Found::default();
        let looked = self.kinds(cluster, &mut found.unseen).await?.into_iter();
        let lists: Vec<_> =
            looked.map(|kind| async move { (self.owned(cluster, &kind.kind).await, kind) }).collect();
        let mut lists = stream::iter(lists).buffered(LISTS_AT_ONCE);
        let (mut known, mut taken) = (BTreeMap::new(), BTreeSet::new());
        while let Some((listed, Looked { kind, is_told })) = lists.next().await {
            match listed {
                // Some objects answer under two groups.
                Ok(objects) => {
                    let objects = objects.into_iter().filter(|object| taken.insert(object.uid.clone()));
                    self.keep_orphans(objects, &mut known, &mut found.objects).await?;
                }
                Err(cluster::Error::UnknownKind { .. }) => {}
                // An API that another server behind the cluster's serves may be down for long.
                Err(error) if is_told || matches!(error, cluster::Error::Forbidden { .. }) => {
                    found.unseen.push(format!("{kind}: {error}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    /// Keeps those of app contexts that the store does not know.
    async fn keep_orphans(
        &self,
        objects: impl Iterator<Item = Object>,
        known: &mut BTreeMap<ContextId, bool>,
        orphans: &mut Vec<(ContextId, Object)>,
    ) -> Result<(), OrphanError> {
        for object in objects {
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
        Ok(())
    }

    /// The kinds of which there may be objects of ours. Where the cluster does not tell those of extra manifests, that is
    /// among what is unseen.
    async fn kinds(
        &self,
        cluster: &dyn Cluster,
        unseen: &mut Vec<String>,
    ) -> Result<Vec<Looked>, cluster::Error> {
        let rendered = |(group, kind): &(&str, &str)| Looked {
            kind: GroupVersionKind::new(group, "v1", kind),
            is_told: false,
        };
        let told = match cluster.kinds(&self.call()).await {
            Ok(kinds) => kinds,
            Err(error) if error.is_about_cluster() => return Err(error),
            Err(error) => {
                unseen.push(format!("kinds of extra manifests: {error}"));
                Vec::new()
            }
        };
        let is_rendered = |kind: &GroupVersionKind| {
            FIRST_KINDS.iter().chain(&LAST_KINDS).any(|rendered| *rendered == (&*kind.group, &*kind.kind))
        };
        let told = told.into_iter().filter(|kind| !is_rendered(kind));
        let told = told.map(|kind| Looked { kind, is_told: true });
        Ok(FIRST_KINDS.iter().map(rendered).chain(told).chain(LAST_KINDS.iter().map(rendered)).collect())
    }

    async fn owned(
        &self,
        cluster: &dyn Cluster,
        kind: &GroupVersionKind,
    ) -> Result<Vec<Object>, cluster::Error> {
        let call = self.call();
        let selection = Selection { kind: kind.clone(), owner: call.owner.clone() };
        match cluster.watch(&call, &selection).await?.next().await.transpose()? {
            Some(WatchEvent::Listed(objects)) => Ok(objects),
            Some(_) | None => Ok(Vec::new()),
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

/// A kind that is looked through.
struct Looked {
    kind: GroupVersionKind,
    /// The cluster told it, and not every cluster has it.
    is_told: bool,
}

/// What is found on a cluster.
#[derive(Default)]
struct Found {
    objects: Vec<(ContextId, Object)>,
    unseen: Vec<String>,
}

fn orphan(context: ContextId, object: &Object, cleared: Option<Cleared>) -> Orphan {
    let generation = object.marks.as_ref().map(|marks| marks.generation).unwrap_or_default();
    Orphan { context, object: object.key.clone(), generation, cleared }
}

#[cfg(test)]
mod tests {
    use dcm_core::logical_cloud::RENDERED_KINDS;

    use super::*;

    #[test]
    fn every_kind_that_we_make_is_looked_through_once_and_namespaces_last() {
        let looked: Vec<_> = FIRST_KINDS.into_iter().chain(LAST_KINDS).collect();
        let asked_for_by = ("certificates.k8s.io", "CertificateSigningRequest");
        let made: BTreeSet<_> = RENDERED_KINDS.into_iter().chain([asked_for_by]).collect();
        assert_eq!(looked.iter().copied().collect::<BTreeSet<_>>(), made);
        assert_eq!((looked.len(), looked.last()), (made.len(), Some(&("", "Namespace"))));
    }
}
