//! Looking for orphans: through all kinds of which there may be objects of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::{self, Cluster, Kinds, Object, Selection};
use dcm_core::port::listing::{list_all, listed};
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

/// Maximum number of objects with marks that are kept of one cluster. A client that may write labels there can make any number.
const ORPHANS_MAX: usize = 50_000;

impl Deployment {
    /// Looks through all kinds, and gives what is found in the order in which it is cleared: of one app context, or of all.
    pub(super) async fn orphaned(
        &self,
        cluster: &dyn Cluster,
        only: Option<&ContextId>,
    ) -> Result<Found, OrphanError> {
        let mut found = Found::default();
        let looked = self.kinds(cluster, &mut found.unseen).await?.into_iter();
        let room = AtomicUsize::new(ORPHANS_MAX);
        let keeping = &Keeping { only, room: &room };
        let look = |kind: Looked| async move { (self.owned(cluster, &kind.kind, keeping).await, kind) };
        let lists: Vec<_> = looked.map(look).collect();
        let mut lists = stream::iter(lists).buffered(LISTS_AT_ONCE);
        let (mut seen, mut unlisted) = (SeenBefore::default(), Vec::new());
        let mut sees_namespaces = true;
        while let Some((listed, Looked { kind, is_told })) = lists.next().await {
            match listed {
                Ok(Owned { marked, more }) => {
                    self.keep_orphans(marked, &mut seen, &mut found.objects).await?;
                    found.unseen.extend(without_room(&kind, more));
                }
                Err(cluster::Error::UnknownKind { .. }) => {}
                // Of most kinds the least role gives none to list in the whole cluster.
                Err(error @ cluster::Error::Forbidden { .. }) if is_told => unlisted.push((kind, error)),
                // An API that another server behind the cluster's serves may be down for long.
                Err(error) if is_told || matches!(error, cluster::Error::Forbidden { .. }) => {
                    sees_namespaces &= !kind.is_namespace();
                    found.unseen.push(format!("{kind}: {error}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        drop(lists);
        if !sees_namespaces {
            found.unseen.extend(unlisted.drain(..).map(|(kind, error)| format!("{kind}: {error}")));
        }
        let kinds: Vec<_> = unlisted.into_iter().map(|(kind, _)| kind).collect();
        let inside = self.inside(cluster, &kinds, keeping, &mut seen, &mut found).await?;
        let is_last = |(_, object): &(ContextId, Object)| {
            LAST_KINDS.contains(&(&*object.kind.group, &*object.kind.kind))
        };
        let place = found.objects.iter().position(is_last).unwrap_or(found.objects.len());
        found.objects.splice(place..place, inside);
        Ok(found)
    }

    /// Looks through the namespaces of orphans for kinds that may not be listed in the whole cluster. What is ours of such a kind is
    /// in no other namespace, as each app context marks its own.
    async fn inside(
        &self,
        cluster: &dyn Cluster,
        kinds: &[GroupVersionKind],
        keeping: &Keeping<'_>,
        seen: &mut SeenBefore,
        found: &mut Found,
    ) -> Result<Vec<(ContextId, Object)>, OrphanError> {
        let call = &self.call();
        // The contents of a namespace that is being deleted go with it, and the API server makes no binding there.
        let stays = |object: &Object| object.kind.is_namespace() && object.deleting.is_none();
        let namespaces = found.objects.iter().filter(|(_, object)| stays(object));
        let namespaces: Vec<_> = namespaces.map(|(_, object)| object.key.name.clone()).collect();
        let mut inside = Vec::new();
        for namespace in namespaces.iter().filter(|_| !kinds.is_empty()) {
            // It also gives us the right to list there.
            if let Err(error) = cluster.contents(call, namespace, None).await {
                found.unseen.push(format!("namespace {namespace}: {error}"));
                continue;
            }
            let look = |kind| async move {
                let mut more = 0;
                let keep = |object: Object| {
                    let is_ours = object.marks.as_ref().is_some_and(|marks| marks.owner == call.owner);
                    is_ours.then(|| keeping.keep(object, &mut more))?
                };
                let listed = list_all(cluster, call, kind, Some(namespace), keep).await;
                (kind, listed.map(|marked| Owned { marked, more }))
            };
            let lists: Vec<_> = kinds.iter().map(look).collect();
            let mut lists = stream::iter(lists).buffered(LISTS_AT_ONCE);
            while let Some((kind, listed)) = lists.next().await {
                match listed {
                    Ok(Owned { marked, more }) => {
                        self.keep_orphans(marked, seen, &mut inside).await?;
                        found.unseen.extend(without_room(&format_args!("{kind} in {namespace}"), more));
                    }
                    Err(cluster::Error::UnknownKind { .. }) => {}
                    Err(error) => found.unseen.push(format!("{kind} in {namespace}: {error}")),
                }
            }
        }
        Ok(inside)
    }

    /// Keeps those of app contexts that the store does not know.
    async fn keep_orphans(
        &self,
        marked: Vec<(ContextId, Object)>,
        seen: &mut SeenBefore,
        orphans: &mut Vec<(ContextId, Object)>,
    ) -> Result<(), OrphanError> {
        for (context, object) in marked {
            if !seen.objects.insert(object.uid.clone()) {
                continue;
            }
            let is_known = match seen.contexts.get(&context) {
                Some(is_known) => *is_known,
                None => self.contexts().knows(&context).await?,
            };
            seen.contexts.insert(context.clone(), is_known);
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

    /// The objects of a kind that we wrote or adopted, without what they contain, as far as there is room.
    async fn owned(
        &self,
        cluster: &dyn Cluster,
        kind: &GroupVersionKind,
        keeping: &Keeping<'_>,
    ) -> Result<Owned, cluster::Error> {
        let call = self.call();
        let selection = Selection { kind: kind.clone(), owner: call.owner.clone() };
        let mut watch = cluster.watch(&call, &selection).await?;
        let mut more = 0;
        let marked = listed(&mut watch, kind, |object| keeping.keep(object, &mut more)).await?;
        Ok(Owned { marked, more })
    }
}

/// What is kept of all that is looked at.
struct Keeping<'a> {
    /// Only what is of this app context; none: of all.
    only: Option<&'a ContextId>,
    /// For how many more objects there is room.
    room: &'a AtomicUsize,
}

impl Keeping<'_> {
    /// An object with its app context, without what it contains; none where it is no concern of ours, or where there is no room,
    /// which counts one more.
    fn keep(&self, mut object: Object, more: &mut usize) -> Option<(ContextId, Object)> {
        let context = context_of(&object).filter(|context| self.only.is_none_or(|only| only == context))?;
        let take = |room: usize| room.checked_sub(1);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            *more += 1;
            return None;
        }
        object.body = Arc::default();
        Some((context, object))
    }
}

/// How many objects were not kept of what was listed; none where all were.
fn without_room(listed: &impl fmt::Display, more: usize) -> Option<String> {
    (more > 0).then(|| format!("{listed}: and {more} more objects with our marks"))
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

/// What was looked at already.
#[derive(Default)]
struct SeenBefore {
    /// UIDs: some objects answer under two groups.
    objects: BTreeSet<Arc<str>>,
    /// Whether the store knows an app context.
    contexts: BTreeMap<ContextId, bool>,
}

/// What of a kind carries marks of ours.
struct Owned {
    marked: Vec<(ContextId, Object)>,
    /// How many more there are, for which there was no room.
    more: usize,
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
    use dcm_core::app_context::Generation;
    use dcm_core::logical_cloud::RENDERED_KINDS;
    use dcm_core::manifest::{Manifest, ObjectKey};
    use dcm_core::port::cluster::{Marks, Origin};
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_with_our_marks_for_which_there_is_no_room_are_counted() {
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}});
        let marks = Marks {
            owner: "ours".parse().unwrap(),
            context: ContextId::new("lost").unwrap(),
            generation: Generation(1),
            manifest: Some(Manifest::new(body.clone()).unwrap().hash()),
            origin: Origin::Created,
        };
        let object = Object {
            key: ObjectKey::of_kind(&kind, Some("default"), "kept"),
            kind,
            uid: "u".into(),
            resource_version: "1".into(),
            marks: Some(marks),
            deleting: None,
            body: Arc::new(body),
        };
        let not_ours = Object { marks: None, ..object.clone() };
        let keeping = Keeping { only: None, room: &AtomicUsize::new(1) };
        let (mut kept, mut more) = (0, 0);
        for object in [not_ours.clone(), object.clone(), object.clone(), not_ours, object] {
            kept += usize::from(keeping.keep(object, &mut more).is_some());
        }
        assert_eq!((kept, more), (1, 2));
        assert_eq!(without_room(&"v1 ConfigMap", 0), None);
        let told = without_room(&"v1 ConfigMap", more).unwrap();
        assert_eq!(told, "v1 ConfigMap: and 2 more objects with our marks");
    }

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
        let down = cluster::Error::Server { code: 503, message: "no answer".into() };
        let mut unseen = Vec::new();
        let looked = in_order(Kinds { known, unseen: [("a.example".into(), down)].into() }, &mut unseen);
        let told: Vec<_> = looked.iter().filter(|one| one.is_told).map(|one| &*one.kind.kind).collect();
        assert_eq!((told, looked.len()), (vec!["Service"], FIRST_KINDS.len() + 1 + LAST_KINDS.len()));
        assert_eq!(unseen, ["kinds of a.example: the cluster failed with 503: no answer"]);
    }
}
