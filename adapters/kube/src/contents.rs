//! What is in a namespace.
//!
//! Counted is every object of every namespaced resource that can be listed and deleted (that is what Kubernetes itself
//! removes with a namespace; figures such as pod metrics can't be deleted), except:
//! - events;
//! - ServiceAccount `default`, ConfigMap `kube-root-ca.crt`, Endpoints with a Service of their name, and the token
//!   Secrets that older versions made for each ServiceAccount (`NAME-token-…`): Kubernetes made them;
//! - what has an owner that is in the namespace, too: it goes with it. EndpointSlices of Services are of this kind;
//! - our own objects of the app context that asks.
//!
//! An object that two groups serve is counted once. A resource that we may not list is an error, never an empty one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::manifest::ObjectKey;
use dcm_core::name::ContextId;
use dcm_core::port::cluster::{CONTENTS_SAMPLE_MAX, Call, Contents, Error, LABEL_CONTEXT, LABEL_OWNER};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use crate::failure::Failure;
use crate::list;
use crate::preferred::{Listable, listable};
use crate::transport::Transport;

/// Lists at once: enough to be quick over some fifty resources, and far under what an API server takes from one client.
const LISTS_AT_ONCE: usize = 8;

/// Metadata only; plain objects from servers that don't know the form. Both are read the same.
const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Annotation of a token Secret: the ServiceAccount that it is for.
const TOKEN_OF: &str = "kubernetes.io/service-account.name";

/// Counts what is in a namespace.
pub(crate) async fn contents(transport: &Transport, call: &Call, namespace: &str) -> Result<Contents, Error> {
    let resources = listable(transport, call).await?;
    let lists = resources.into_iter().map(|resource| list(transport, call, namespace, resource));
    let found: Vec<Vec<Found>> = stream::iter(lists).buffer_unordered(LISTS_AT_ONCE).try_collect().await?;
    Ok(count(found.into_iter().flatten().collect(), namespace, call))
}

async fn list(
    transport: &Transport,
    call: &Call,
    namespace: &str,
    resource: Listable,
) -> Result<Vec<Found>, Error> {
    let path = resource.resource.collection(Some(namespace));
    let items: Vec<Item> = match list::all(transport, call, &path, "", METADATA_ONLY).await {
        Ok(listed) => listed.items,
        // It was there when it was discovered: a definition that was removed since, with all its objects.
        Err(Failure::Refused(refused)) if refused.status.code == 404 => Vec::new(),
        Err(failure) => return Err(name_resource(failure.into(), &resource)),
    };
    let found = items.into_iter().map(|item| Found {
        group: resource.resource.group.clone(),
        kind: resource.kind.clone(),
        metadata: item.metadata,
    });
    Ok(found.collect())
}

/// Says which resource may not be listed, whatever the server's words are.
fn name_resource(error: Error, resource: &Listable) -> Error {
    match error {
        Error::Forbidden { message } => {
            let (plural, group) = (&resource.resource.plural, &resource.resource.group);
            let dot = if group.is_empty() { "" } else { "." };
            Error::Forbidden { message: format!("{plural}{dot}{group} can't be listed: {message}") }
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

fn count(found: Vec<Found>, namespace: &str, call: &Call) -> Contents {
    let listed: BTreeSet<String> = found.iter().map(|found| found.metadata.uid.clone()).collect();
    let services: BTreeSet<String> = found
        .iter()
        .filter(|found| found.is("", "Service"))
        .map(|found| found.metadata.name.clone())
        .collect();
    let counted: BTreeMap<String, ObjectKey> = found
        .into_iter()
        .filter(|found| !found.is_made_by_kubernetes(&services) && !found.is_of(call))
        .filter(|found| !found.metadata.owner_references.iter().any(|owner| listed.contains(&owner.uid)))
        .map(|found| (found.metadata.uid.clone(), found.key(namespace)))
        .collect();
    let mut sample: Vec<ObjectKey> = counted.values().cloned().collect();
    sample.sort();
    sample.truncate(CONTENTS_SAMPLE_MAX);
    Contents { count: counted.len(), sample }
}

impl Found {
    fn is(&self, group: &str, kind: &str) -> bool {
        &*self.group == group && &*self.kind == kind
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

    /// True for an object of the app context that asks.
    fn is_of(&self, call: &Call) -> bool {
        let label = |key: &str| self.metadata.labels.get(key).map(String::as_str);
        let context = call.context.as_ref().map(ContextId::as_str);
        context.is_some()
            && label(LABEL_OWNER) == Some(call.owner.as_str())
            && label(LABEL_CONTEXT) == context
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
    use dcm_core::name::OwnerId;
    use dcm_core::port::cluster::Fence;
    use serde_json::{Value, json};

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
        let contents = count(table.into_iter().map(|(found, _)| found).collect(), "n", &call(None));
        assert_eq!(contents.count, expected.len());
        assert_eq!(contents.sample.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn our_own_objects_of_the_context_are_not_counted_and_those_of_others_are() {
        let marked =
            |owner: &str, context: &str| json!({"labels": {LABEL_OWNER: owner, LABEL_CONTEXT: context}});
        let objects = || {
            vec![
                found("", "ConfigMap", "ours", marked("dcm", "lc-1")),
                found("", "ConfigMap", "other-context", marked("dcm", "lc-2")),
                found("", "ConfigMap", "other-owner", marked("else", "lc-1")),
                found(
                    "",
                    "ConfigMap",
                    "owned-by-ours",
                    json!({"ownerReferences": [{"uid": "ConfigMap/ours"}]}),
                ),
            ]
        };
        assert_eq!(count(objects(), "n", &call(Some("lc-1"))).count, 2);
        assert_eq!(count(objects(), "n", &call(None)).count, 3);
    }

    #[test]
    fn an_object_that_two_groups_serve_counts_once_and_the_sample_is_short_and_sorted() {
        let mut objects =
            vec![found("", "Event", "e", json!({})), found("events.k8s.io", "Event", "e", json!({}))];
        objects.extend((0..20).rev().map(|n| found("", "ConfigMap", &format!("c{n:02}"), json!({}))));
        let contents = count(objects, "n", &call(None));
        assert_eq!(contents.count, 21);
        assert_eq!(contents.sample.len(), CONTENTS_SAMPLE_MAX);
        assert_eq!(contents.sample[0].to_string(), "ConfigMap n/c00");
    }
}
