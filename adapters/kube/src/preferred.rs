//! Every resource of a cluster, and those that can be contents of a namespace.
//!
//! Since 1.26 a cluster tells them all in two answers; an older one, or a proxy that strips the form asked for, is asked
//! group by group. A group that other servers serve behind the cluster's can't be asked while they are down.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::port::cluster::{Call, Error};
use dcm_core::port::resources::{Resources, ServedResource};
use futures::stream::{self, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroupList, APIResource, APIResourceList, APIVersions,
};
use kube::client::{APIGroupDiscoveryList, APIResourceDiscovery};
use serde::Deserialize;

use crate::resource::{Resource, group_version_path};
use crate::transport::{Request, Transport};

/// The forms in which a cluster may tell its resources, the best first.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
     application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Groups asked at once, when they have to be asked one by one.
const GROUPS_AT_ONCE: usize = 8;

/// A resource, and the kind of its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listable {
    pub(crate) resource: Resource,
    pub(crate) kind: Arc<str>,
}

/// All that a cluster serves, as far as it is known.
pub(crate) async fn served(transport: &Transport, call: &Call) -> Result<Resources, Error> {
    let (core, groups) = futures::try_join!(roots(transport, call, "/api"), roots(transport, call, "/apis"))?;
    let mut served = Resources::default();
    for answer in [core, groups] {
        match answer {
            Root::Aggregated(list) => from_aggregated(&list, &mut served),
            Root::Plain(versions) => one_by_one(transport, call, versions, &mut served).await?,
        }
    }
    Ok(served)
}

/// The namespaced resources that can be listed and deleted, each in the first version that has it, except events.
pub(crate) fn listable_of(served: Vec<ServedResource>) -> Vec<Listable> {
    let mut seen = BTreeSet::new();
    let is_event =
        |one: &ServedResource| &*one.name == "events" && matches!(&*one.group, "" | "events.k8s.io");
    let can_be_content = |one: &ServedResource| {
        one.is_namespaced
            && !one.is_subresource()
            && !one.kind.is_empty()
            && ["list", "delete"].iter().all(|verb| one.verbs.contains(*verb))
    };
    let mut kept = served;
    kept.retain(|one| {
        can_be_content(one) && !is_event(one) && seen.insert((one.group.clone(), one.name.clone()))
    });
    let listable = |ServedResource { group, version, kind, name: plural, .. }| Listable {
        resource: Resource { group, version, plural, namespaced: true },
        kind,
    };
    kept.into_iter().map(listable).collect()
}

/// The same where nothing may be missing: a group that can't be asked is an error.
pub(crate) async fn listable(transport: &Transport, call: &Call) -> Result<Vec<Listable>, Error> {
    let Resources { served, unseen } = served(transport, call).await?;
    unseen.into_values().next().map_or_else(|| Ok(listable_of(served)), Err)
}

/// A group and version.
type GroupVersion = (String, String);

/// What one of the two roots of the API told.
enum Root {
    /// All resources.
    Aggregated(APIGroupDiscoveryList),
    /// The versions of each group, the preferred one first.
    Plain(Vec<GroupVersion>),
}

#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    kind: String,
}

async fn roots(transport: &Transport, call: &Call, path: &str) -> Result<Root, Error> {
    let answer = transport.send(call, Request::get(path.to_owned()).accepting(AGGREGATED)).await?;
    Ok(match answer.read::<Form>().await?.kind.as_str() {
        "APIGroupDiscoveryList" => Root::Aggregated(answer.read().await?),
        "APIVersions" => Root::Plain(core_versions(answer.read().await?)),
        _ => Root::Plain(group_versions(answer.read().await?)),
    })
}

fn core_versions(versions: APIVersions) -> Vec<GroupVersion> {
    versions.versions.into_iter().map(|version| (String::new(), version)).collect()
}

fn group_versions(list: APIGroupList) -> Vec<GroupVersion> {
    let mut versions = Vec::new();
    for group in list.groups {
        let preferred = group.preferred_version.map(|preferred| preferred.version);
        let others = group.versions.into_iter().map(|version| version.version);
        for version in preferred.into_iter().chain(others) {
            if !versions.contains(&(group.name.clone(), version.clone())) {
                versions.push((group.name.clone(), version));
            }
        }
    }
    versions
}

async fn one_by_one(
    transport: &Transport,
    call: &Call,
    versions: Vec<GroupVersion>,
    served: &mut Resources,
) -> Result<(), Error> {
    let lists = versions.into_iter().map(|(group, version)| async move {
        let asked = async {
            let answer = transport.send(call, Request::get(group_version_path(&group, &version))).await?;
            answer.read::<APIResourceList>().await
        };
        let found = asked.await.map(|list| from_plain(&group, &version, list.resources));
        (group, found)
    });
    let mut lists = stream::iter(lists).buffered(GROUPS_AT_ONCE);
    while let Some((group, found)) = lists.next().await {
        match found {
            Ok(found) => served.served.extend(found),
            Err(error) if error.is_about_cluster() => return Err(error),
            Err(error) => drop(served.unseen.insert(group.into(), error)),
        }
    }
    Ok(())
}

fn from_plain(group: &str, version: &str, resources: Vec<APIResource>) -> Vec<ServedResource> {
    let resource = |resource: APIResource| ServedResource {
        group: group.into(),
        version: version.into(),
        kind: resource.kind.into(),
        name: resource.name.into(),
        is_namespaced: resource.namespaced,
        verbs: resource.verbs.into_iter().map(Into::into).collect(),
    };
    resources.into_iter().map(resource).collect()
}

/// A version whose server is down is told without its resources.
fn from_aggregated(list: &APIGroupDiscoveryList, served: &mut Resources) {
    for item in &list.items {
        let group = item.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default();
        for version in &item.versions {
            let name = version.version.as_deref().unwrap_or_default();
            if version.freshness.as_deref() == Some("Stale") {
                let message =
                    format!("the server of {group}/{name} does not answer, so its objects are not known");
                served.unseen.insert(group.into(), Error::Server { code: 503, message: message.into() });
                continue;
            }
            let resources = version.resources.iter();
            served.served.extend(resources.flat_map(|resource| from_resource(group, name, resource)));
        }
    }
}

/// A resource and its subresources.
fn from_resource(group: &str, version: &str, resource: &APIResourceDiscovery) -> Vec<ServedResource> {
    let Some(plural) = resource.resource.as_deref() else { return Vec::new() };
    let served = |name: String, kind: Option<&str>, verbs: &[String]| ServedResource {
        group: group.into(),
        version: version.into(),
        kind: kind.unwrap_or_default().into(),
        name: name.into(),
        is_namespaced: resource.scope.as_deref() == Some("Namespaced"),
        verbs: verbs.iter().map(|verb| Arc::from(&**verb)).collect(),
    };
    let kind = resource.response_kind.as_ref().and_then(|kind| kind.kind.as_deref());
    let mut found = vec![served(plural.to_owned(), kind, &resource.verbs)];
    for below in &resource.subresources {
        let kind = below.response_kind.as_ref().and_then(|kind| kind.kind.as_deref());
        let name = format!("{plural}/{}", below.subresource.as_deref().unwrap_or_default());
        found.push(served(name, kind, &below.verbs));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(found: &[Listable]) -> Vec<String> {
        let name = |found: &Listable| {
            let resource = &found.resource;
            format!("{}/{} {} {}", resource.group, resource.version, resource.plural, found.kind)
        };
        found.iter().map(name).collect()
    }

    fn aggregated(freshness: &str) -> APIGroupDiscoveryList {
        let resource = |plural: &str, kind: &str, scope: &str, verbs: &[&str]| json!({"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": verbs});
        let all = &["create", "delete", "get", "list"];
        let list = json!({"items": [
            {"metadata": {"name": ""}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
                resource("configmaps", "ConfigMap", "Namespaced", all),
                resource("events", "Event", "Namespaced", all),
                resource("namespaces", "Namespace", "Cluster", all),
                resource("bindings", "Binding", "Namespaced", &["create"]),
            ]}]},
            {"metadata": {"name": "a"}, "versions": [
                {"version": "v2", "freshness": freshness, "resources": [resource("bs", "B", "Namespaced", all)]},
                {"version": "v1", "freshness": "Current", "resources": [
                    resource("bs", "B", "Namespaced", all),
                    resource("cs", "C", "Namespaced", all),
                    resource("figures", "Figure", "Namespaced", &["get", "list"]),
                ]},
            ]},
        ]});
        serde_json::from_value(list).unwrap()
    }

    fn served_of(freshness: &str) -> Resources {
        let mut served = Resources::default();
        from_aggregated(&aggregated(freshness), &mut served);
        served
    }

    #[test]
    fn each_resource_that_can_be_content_is_found_once() {
        let found = served_of("Current");
        let listable = listable_of(found.served);
        assert_eq!(names(&listable), ["/v1 configmaps ConfigMap", "a/v2 bs B", "a/v1 cs C"]);
        assert!(found.unseen.is_empty(), "{:?}", found.unseen);
    }

    #[test]
    fn a_group_that_can_not_be_asked_is_told_and_hides_no_other() {
        let found = served_of("Stale");
        let listable = listable_of(found.served);
        assert_eq!(names(&listable), ["/v1 configmaps ConfigMap", "a/v1 bs B", "a/v1 cs C"]);
        assert_eq!(found.unseen.keys().map(|group| &**group).collect::<Vec<_>>(), ["a"]);
        assert!(found.unseen["a"].to_string().contains("a/v2"), "{:?}", found.unseen);
    }

    #[test]
    fn the_plain_form_tells_the_same() {
        let groups = json!({"groups": [{"name": "a", "preferredVersion": {"groupVersion": "a/v2", "version": "v2"},
            "versions": [{"groupVersion": "a/v1", "version": "v1"}, {"groupVersion": "a/v2", "version": "v2"}]}]});
        let versions = group_versions(serde_json::from_value(groups).unwrap());
        assert_eq!(versions, [("a".to_owned(), "v2".to_owned()), ("a".to_owned(), "v1".to_owned())]);
        let resources = json!([
            {"name": "bs", "kind": "B", "namespaced": true, "singularName": "", "verbs": ["list", "delete"]},
            {"name": "bs/status", "kind": "B", "namespaced": true, "singularName": "", "verbs": ["list", "delete"]},
            {"name": "ws", "kind": "W", "namespaced": false, "singularName": "", "verbs": ["list", "delete"]},
        ]);
        let found = from_plain("a", "v2", serde_json::from_value(resources).unwrap());
        assert_eq!(names(&listable_of(found)), ["a/v2 bs B"]);
    }
}
