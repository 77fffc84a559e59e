//! What is in a namespace.
//!
//! Counted is every object of every namespaced resource that can be listed and deleted (that is what Kubernetes itself
//! removes with a namespace; figures such as pod metrics can't be deleted), except:
//! - events;
//! - ServiceAccount `default`, ConfigMap `kube-root-ca.crt`, Endpoints with a Service of their name, and the token
//!   Secrets that older versions made for each ServiceAccount (`NAME-token-…`): Kubernetes made them;
//! - what has an owner that is in the namespace, too: it goes with it. EndpointSlices of Services are of this kind;
//! - our own objects of the app context that asks, as far as their marks are proved;
//! - the RoleBinding by which we list it ([`namespaced`]);
//! - what controllers of the cluster put into every namespace ([`IgnoredContents`]).
//!
//! An object that two groups serve is counted once. A resource that we may not list is an error, never an empty one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dcm_core::ignored::IgnoredContents;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::{
    ANNOTATION_GENERATION, ANNOTATION_MANIFEST, ANNOTATION_ORIGIN, CONTENTS_SAMPLE_MAX, Call, Contents,
    Error, LABEL_CONTEXT, LABEL_OWNER, NAMESPACE_BINDING,
};
use dcm_core::port::proof::{ANNOTATION_PROOF, ClusterProofKey};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::list::Pages;
use crate::namespaced;
use crate::preferred::{Listable, listable};
use crate::transport::Transport;

/// Lists at once: enough to be quick over some fifty resources, and far under what an API server takes from one client.
const LISTS_AT_ONCE: usize = 8;

/// How much is kept of the contents of one namespace while they are counted: some 100,000 objects.
const KEPT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Metadata only; plain objects from servers that don't know the form. Both are read the same.
const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Annotation of a token Secret: the ServiceAccount that it is for.
const TOKEN_OF: &str = "kubernetes.io/service-account.name";

/// Counts what is in a namespace.
pub(crate) async fn contents(
    transport: &Transport,
    call: &Call,
    namespace: &str,
    proofs: Option<&ClusterProofKey>,
    ignored: &IgnoredContents,
) -> Result<Contents, Error> {
    let resources = listable(transport, call).await?;
    let place = Place { call, namespace, proofs, ignored };
    let kept = AtomicUsize::new(0);
    let lists = resources.into_iter().map(|resource| list(transport, &place, &kept, resource));
    let found: Vec<Vec<Found>> = stream::iter(lists).buffer_unordered(LISTS_AT_ONCE).try_collect().await?;
    let mut found: Vec<Found> = found.into_iter().flatten().collect();
    if found.iter().any(Found::is_named_as_our_binding)
        && namespaced::is_own(transport, call, namespace).await?
    {
        found.retain(|found| !found.is_named_as_our_binding());
    }
    Ok(count(found, &place))
}

async fn list(
    transport: &Transport,
    place: &Place<'_>,
    kept: &AtomicUsize,
    resource: Listable,
) -> Result<Vec<Found>, Error> {
    let path = resource.resource.collection(Some(place.namespace));
    let what = name_of(&resource);
    let mut pages = Pages::new(transport, path, String::new(), METADATA_ONLY, what.clone());
    let mut found = Vec::new();
    while !pages.is_over() {
        let page = match pages.page(transport, place.call).await {
            Ok(page) => page,
            // It was there when it was discovered: a definition that was removed since, with all its objects.
            Err(Failure::Refused(refused)) if refused.status.code == 404 => return Ok(Vec::new()),
            Err(failure) => return Err(name_resource(failure.into(), &resource)),
        };
        let ignored = place.ignored.clone();
        for metadata in page.items(move |Item { metadata }| Ok(metadata.trimmed(&ignored))).await? {
            if kept.fetch_add(metadata.bytes(), Ordering::Relaxed) > KEPT_BYTES_MAX {
                let what =
                    format!("contents of more than {KEPT_BYTES_MAX} bytes of names and marks, at {what}");
                return Err(Error::Unsupported { what });
            }
            let (group, kind) = (resource.resource.group.clone(), resource.kind.clone());
            found.push(Found { group, kind, metadata });
        }
    }
    Ok(found)
}

fn name_of(resource: &Listable) -> String {
    let (plural, group) = (&resource.resource.plural, &resource.resource.group);
    let dot = if group.is_empty() { "" } else { "." };
    format!("{plural}{dot}{group}")
}

/// Says which resource may not be listed, whatever the server's words are.
fn name_resource(error: Error, resource: &Listable) -> Error {
    match error {
        Error::Forbidden { message } => {
            let message = format!("{} can't be listed: {message}", name_of(resource));
            Error::Forbidden { message: message.into() }
        }
        other => other,
    }
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

/// The part of an object's metadata that tells what it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    uid: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<OwnerReference>,
}

impl Metadata {
    /// What counts of it; the rest may be a hundred times as much.
    fn trimmed(mut self, ignored: &IgnoredContents) -> Self {
        self.labels.retain(|key, _| {
            [LABEL_OWNER, LABEL_CONTEXT].contains(&&**key) || ignored.label_keys().any(|label| label == key)
        });
        self.annotations.retain(|key, _| {
            let is_mark = [ANNOTATION_GENERATION, ANNOTATION_MANIFEST, ANNOTATION_ORIGIN, ANNOTATION_PROOF];
            key == TOKEN_OF || is_mark.contains(&&**key)
        });
        self
    }

    /// How much memory it takes, about.
    fn bytes(&self) -> usize {
        let marks = self.labels.iter().chain(&self.annotations).map(|(key, value)| key.len() + value.len());
        let owners = self.owner_references.iter().map(|owner| owner.uid.len() + size_of::<OwnerReference>());
        size_of::<Found>() + self.name.len() + self.uid.len() + marks.chain(owners).sum::<usize>()
    }
}

#[derive(Debug, Deserialize)]
struct OwnerReference {
    uid: String,
}

/// One object that was listed.
#[derive(Debug)]
struct Found {
    group: Arc<str>,
    kind: Arc<str>,
    metadata: Metadata,
}

/// Where is counted, and for whom.
struct Place<'a> {
    call: &'a Call,
    namespace: &'a str,
    proofs: Option<&'a ClusterProofKey>,
    ignored: &'a IgnoredContents,
}

fn count(found: Vec<Found>, place: &Place<'_>) -> Contents {
    let listed: BTreeSet<String> = found.iter().map(|found| found.metadata.uid.clone()).collect();
    let services: BTreeSet<String> = found
        .iter()
        .filter(|found| found.is("", "Service"))
        .map(|found| found.metadata.name.clone())
        .collect();
    let others = found
        .into_iter()
        .filter(|found| !found.is_made_by_kubernetes(&services) && !found.is_ours(place))
        .filter(|found| !found.metadata.owner_references.iter().any(|owner| listed.contains(&owner.uid)));
    let (ignored, counted): (Vec<Found>, Vec<Found>) = others.partition(|found| found.is_ignored(place));
    let mut ignored: Vec<ObjectKey> = ignored.iter().map(|found| found.key(place.namespace)).collect();
    ignored.sort();
    ignored.dedup();
    ignored.truncate(CONTENTS_SAMPLE_MAX);
    let counted: BTreeMap<String, ObjectKey> =
        counted.into_iter().map(|found| (found.metadata.uid.clone(), found.key(place.namespace))).collect();
    let mut sample: Vec<ObjectKey> = counted.values().cloned().collect();
    sample.sort();
    let bindings = sample.iter().filter(|key| key.is_binding()).map(|key| key.name.clone());
    let bindings = bindings.take(CONTENTS_SAMPLE_MAX).collect();
    sample.truncate(CONTENTS_SAMPLE_MAX);
    Contents { count: counted.len(), sample, bindings, ignored }
}

impl Found {
    fn is(&self, group: &str, kind: &str) -> bool {
        &*self.group == group && &*self.kind == kind
    }

    /// True for a binding of the name of ours; what it binds is not in its metadata.
    fn is_named_as_our_binding(&self) -> bool {
        self.is("rbac.authorization.k8s.io", "RoleBinding") && self.metadata.name == NAMESPACE_BINDING
    }

    fn is_made_by_kubernetes(&self, services: &BTreeSet<String>) -> bool {
        let name = self.metadata.name.as_str();
        match (&*self.group, &*self.kind) {
            ("", "ServiceAccount") => name == "default",
            ("", "ConfigMap") => name == "kube-root-ca.crt",
            ("", "Endpoints") => services.contains(name),
            ("", "Secret") => {
                let account = self.metadata.annotations.get(TOKEN_OF);
                account.is_some_and(|account| name.starts_with(&format!("{account}-token-")))
            }
            _ => false,
        }
    }

    /// True for what a controller of the cluster puts into every namespace.
    fn is_ignored(&self, place: &Place<'_>) -> bool {
        let Metadata { name, labels, .. } = &self.metadata;
        place.ignored.ignores(&self.group, &self.kind, name, labels)
    }

    /// True for an object of the app context that asks.
    fn is_ours(&self, place: &Place<'_>) -> bool {
        let label = |key: &str| self.metadata.labels.get(key).map(String::as_str);
        let context = place.call.context.as_ref().map(ContextId::as_str);
        context.is_some()
            && label(LABEL_OWNER) == Some(place.call.owner.as_str())
            && label(LABEL_CONTEXT) == context
            && place.proofs.is_some_and(|proofs| proofs.proves(&self.key(place.namespace), &self.marks()))
    }

    /// The part of the object in which its marks are.
    fn marks(&self) -> Value {
        json!({"metadata": {"labels": self.metadata.labels, "annotations": self.metadata.annotations}})
    }

    fn key(&self, namespace: &str) -> ObjectKey {
        let name = self.metadata.name.as_str().into();
        ObjectKey::new(self.group.clone(), self.kind.clone(), Some(namespace.into()), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::app_context::Generation;
    use dcm_core::manifest::GroupVersionKind;
    use dcm_core::name::OwnerId;
    use dcm_core::port::cluster::{ClusterUid, Fence, Marks, Origin};
    use dcm_core::port::proof::{PROOF_BYTES, ProofKey};

    fn call(context: Option<&str>) -> Call {
        Call {
            owner: OwnerId::new("dcm").unwrap(),
            context: context.map(|id| ContextId::new(id).unwrap()),
            generation: Generation(1),
            fence: Fence(1),
        }
    }

    /// An object with the UID of its kind and name, and these members of its metadata.
    fn found(group: &str, kind: &str, name: &str, metadata: Value) -> Found {
        let mut metadata: Metadata = serde_json::from_value(metadata).unwrap();
        metadata.name = name.to_owned();
        metadata.uid = format!("{kind}/{name}");
        Found { group: group.into(), kind: kind.into(), metadata }
    }

    #[test]
    fn what_kubernetes_made_and_what_goes_with_its_owner_is_not_counted() {
        let token_of = |account: &str| json!({"annotations": {TOKEN_OF: account}});
        let owned = |uid: &str| json!({"ownerReferences": [{"uid": uid, "kind": "x", "name": "y"}]});
        // (object, whether it counts)
        let table = [
            (found("", "ServiceAccount", "default", json!({})), false),
            (found("", "ServiceAccount", "mine", json!({})), true),
            (found("", "ConfigMap", "kube-root-ca.crt", json!({})), false),
            (found("", "ConfigMap", "default", json!({})), true),
            (found("", "Service", "web", json!({})), true),
            (found("", "Endpoints", "web", json!({})), false),
            (found("", "Endpoints", "mine", json!({})), true),
            (found("discovery.k8s.io", "EndpointSlice", "web-1", owned("Service/web")), false),
            (found("", "Secret", "default-token-abcde", token_of("default")), false),
            (found("", "Secret", "handmade", token_of("default")), true),
            (found("", "Secret", "default-token-x", json!({})), true),
            (found("apps", "Deployment", "d", json!({})), true),
            (found("apps", "ReplicaSet", "d-1", owned("Deployment/d")), false),
            (found("", "Pod", "d-1-1", owned("ReplicaSet/d-1")), false),
            (found("", "Pod", "orphan", owned("elsewhere")), true),
        ];
        let expected: BTreeSet<String> =
            table.iter().filter(|(_, counts)| *counts).map(|(found, _)| found.key("n").to_string()).collect();
        let contents = counted(table.into_iter().map(|(found, _)| found).collect(), None);
        assert_eq!(contents.count, expected.len());
        assert_eq!(contents.sample.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), expected);
    }

    fn proofs() -> ClusterProofKey {
        ProofKey::new(&[1; PROOF_BYTES]).on(&ClusterUid("c".into()))
    }

    /// What is counted for an app context.
    fn counted(found: Vec<Found>, context: Option<&str>) -> Contents {
        let ignored = IgnoredContents::default();
        count(
            found,
            &Place { call: &call(context), namespace: "n", proofs: Some(&proofs()), ignored: &ignored },
        )
    }

    /// A ConfigMap with the marks of an owner and a context; their proof is that for an object of another name, where one
    /// is given.
    fn marked(name: &str, owner: &str, context: &str, proof_of: Option<&str>) -> Found {
        let (owner, context) = (OwnerId::new(owner).unwrap(), ContextId::new(context).unwrap());
        let marks =
            Marks { owner, context, generation: Generation(1), manifest: None, origin: Origin::Created };
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let proof = proofs().prove(&ObjectKey::of_kind(&kind, Some("n"), proof_of.unwrap_or(name)), &marks);
        let labels = json!({LABEL_OWNER: marks.owner.as_str(), LABEL_CONTEXT: marks.context.as_str()});
        let annotations = json!({ANNOTATION_GENERATION: "1", ANNOTATION_PROOF: proof.to_string()});
        found("", "ConfigMap", name, json!({"labels": labels, "annotations": annotations}))
    }

    #[test]
    fn what_controllers_put_into_every_namespace_is_not_counted_and_is_named() {
        let bundle = json!({"labels": {"trust.cert-manager.io/bundle": "roots", "app": "x"}});
        let contents = counted(
            vec![
                found("", "ConfigMap", "istio-ca-root-cert", json!({})),
                found("", "ConfigMap", "roots", bundle),
                found("", "ConfigMap", "mine", json!({})),
                found("", "ServiceAccount", "builder", json!({})),
                found("rbac.authorization.k8s.io", "RoleBinding", "system:deployers", json!({})),
            ],
            None,
        );
        assert_eq!((contents.count, contents.bindings.len()), (1, 0));
        let ignored: Vec<String> = contents.ignored.iter().map(|key| key.name.to_string()).collect();
        assert_eq!(ignored.len(), 4, "{ignored:?}");
    }

    #[test]
    fn our_own_objects_of_the_context_are_not_counted_and_those_of_others_are() {
        let objects = || {
            let owned_by_ours = json!({"ownerReferences": [{"uid": "ConfigMap/ours"}]});
            vec![
                marked("ours", "dcm", "lc-1", None),
                marked("other-context", "dcm", "lc-2", None),
                marked("other-owner", "else", "lc-1", None),
                marked("forged", "dcm", "lc-1", Some("ours")),
                found("", "ConfigMap", "owned-by-ours", owned_by_ours),
            ]
        };
        assert_eq!(counted(objects(), Some("lc-1")).count, 3);
        assert_eq!(counted(objects(), None).count, 4);
        let ignored = IgnoredContents::default();
        let without_key =
            Place { call: &call(Some("lc-1")), namespace: "n", proofs: None, ignored: &ignored };
        assert_eq!(count(objects(), &without_key).count, 4);
    }

    #[test]
    fn an_object_that_two_groups_serve_counts_once_and_the_sample_is_short_and_sorted() {
        let mut objects =
            vec![found("", "Event", "e", json!({})), found("events.k8s.io", "Event", "e", json!({}))];
        objects.extend((0..20).rev().map(|n| found("", "ConfigMap", &format!("c{n:02}"), json!({}))));
        let contents = counted(objects, None);
        assert_eq!(contents.count, 21);
        assert_eq!(contents.sample.len(), CONTENTS_SAMPLE_MAX);
        assert_eq!(contents.sample[0].to_string(), "ConfigMap n/c00");
    }
}
