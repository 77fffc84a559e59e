//! Looking for orphans: through all kinds of which there may be objects of ours.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::{self, Cluster, Kinds, Object, Selection, WatchEvent};
use dcm_core::service::OrphanError;
use futures::stream::{self, StreamExt as _};

use crate::deployment::Deployment;

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

impl Deployment {
    /// Looks through all kinds, and gives what is found in the order in which it is cleared.
    pub(super) async fn orphaned(&self, cluster: &dyn Cluster) -> Result<Found, OrphanError> {
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
            let Some(context) = context_of(&object) else { continue };
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

    /// The kinds of which there may be objects of ours. Where the cluster does not tell those of extra manifests, or not
    /// those of a group, that is among what is unseen.
    async fn kinds(
        &self,
        cluster: &dyn Cluster,
        unseen: &mut Vec<String>,
    ) -> Result<Vec<Looked>, cluster::Error> {
        let told = match cluster.kinds(&self.call()).await {
            Ok(told) => told,
            Err(error) if error.is_about_cluster() => return Err(error),
            Err(error) => {
                unseen.push(format!("kinds of extra manifests: {error}"));
                Kinds::default()
            }
        };
        Ok(in_order(told, unseen))
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
}

/// The kinds to look through, in the order in which they are cleared; what the cluster could not tell is unseen.
fn in_order(told: Kinds, unseen: &mut Vec<String>) -> Vec<Looked> {
    unseen.extend(told.unseen.iter().map(|(group, error)| format!("kinds of {group}: {error}")));
    let rendered = |(group, kind): &(&str, &str)| Looked {
        kind: GroupVersionKind::new(group, "v1", kind),
        is_told: false,
    };
    let is_rendered = |kind: &GroupVersionKind| {
        FIRST_KINDS.iter().chain(&LAST_KINDS).any(|rendered| *rendered == (&*kind.group, &*kind.kind))
    };
    let told = told.known.into_iter().filter(|kind| !is_rendered(kind));
    let told = told.map(|kind| Looked { kind, is_told: true });
    FIRST_KINDS.iter().map(rendered).chain(told).chain(LAST_KINDS.iter().map(rendered)).collect()
}

/// The app context of an object that we wrote or adopted. Controllers copy labels, ours among them, to what they make: those
/// of a Service to Endpoints and EndpointSlices. That is theirs, and goes with its origin or stays with it. They copy no
/// annotations, or name the origin as what controls it; whatever we write has the hash of its manifest.
fn context_of(object: &Object) -> Option<ContextId> {
    let marks = object.marks.as_ref()?;
    let owners = object.body["metadata"]["ownerReferences"].as_array();
    let is_controlled = owners.into_iter().flatten().any(|owner| owner["controller"] == true);
    (marks.manifest.is_some() && !is_controlled).then(|| marks.context.clone())
}

/// A kind that is looked through.
struct Looked {
    kind: GroupVersionKind,
    /// The cluster told it, and not every cluster has it.
    is_told: bool,
}

/// What is found on a cluster.
#[derive(Default)]
pub(super) struct Found {
    pub(super) objects: Vec<(ContextId, Object)>,
    /// What could not be looked through, and why.
    pub(super) unseen: Vec<String>,
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

    #[test]
    fn a_group_that_can_not_be_asked_is_told_as_unseen_and_hides_no_other_kind() {
        let known =
            vec![GroupVersionKind::new("", "v1", "Service"), GroupVersionKind::new("", "v1", "LimitRange")];
        let down = cluster::Error::Server { code: 503, message: "no answer".to_owned() };
        let mut unseen = Vec::new();
        let looked = in_order(Kinds { known, unseen: [("a.example".into(), down)].into() }, &mut unseen);
        let told: Vec<_> = looked.iter().filter(|one| one.is_told).map(|one| &*one.kind.kind).collect();
        assert_eq!((told, looked.len()), (vec!["Service"], FIRST_KINDS.len() + 1 + LAST_KINDS.len()));
        assert_eq!(unseen, ["kinds of a.example: the cluster failed with 503: no answer"]);
    }
}
