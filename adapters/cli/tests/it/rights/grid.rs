//! All requests of a matrix.

use crate::rights::asked::{Asked, PROBE, Resource, Verb};

/// A name that is there in every namespace.
const MAP: &str = "kube-root-ca.crt";

const ALL: &[Verb] = &[
    Verb::Get,
    Verb::List,
    Verb::Watch,
    Verb::Create,
    Verb::Update,
    Verb::Patch,
    Verb::Delete,
    Verb::DeleteCollection,
];

/// Those that name no object, and so can be about all namespaces.
const OF_ALL_NAMESPACES: [Verb; 2] = [Verb::List, Verb::Watch];

const CORE: Resource = Resource {
    group: "",
    version: "v1",
    plural: "configmaps",
    subresource: None,
    body: ("v1", "ConfigMap"),
    namespaced: true,
    verbs: ALL,
};
const APPS: Resource =
    Resource { group: "apps", plural: "deployments", body: ("apps/v1", "Deployment"), ..CORE };
const RBAC: Resource = Resource {
    group: "rbac.authorization.k8s.io",
    plural: "roles",
    body: ("rbac.authorization.k8s.io/v1", "Role"),
    ..CORE
};

static RESOURCES: [Resource; 17] = [
    CORE,
    Resource { plural: "pods", body: ("v1", "Pod"), ..CORE },
    Resource { plural: "pods", subresource: Some("log"), verbs: &[Verb::Get], ..CORE },
    Resource { plural: "secrets", body: ("v1", "Secret"), ..CORE },
    Resource { plural: "services", body: ("v1", "Service"), ..CORE },
    Resource { plural: "serviceaccounts", body: ("v1", "ServiceAccount"), ..CORE },
    Resource {
        plural: "serviceaccounts",
        subresource: Some("token"),
        body: ("authentication.k8s.io/v1", "TokenRequest"),
        verbs: &[Verb::Create],
        ..CORE
    },
    APPS,
    Resource {
        subresource: Some("scale"),
        body: ("autoscaling/v1", "Scale"),
        verbs: &[Verb::Get, Verb::Update, Verb::Patch],
        ..APPS
    },
    Resource { group: "batch", plural: "jobs", body: ("batch/v1", "Job"), ..CORE },
    Resource {
        group: "networking.k8s.io",
        plural: "networkpolicies",
        body: ("networking.k8s.io/v1", "NetworkPolicy"),
        ..CORE
    },
    RBAC,
    Resource { plural: "nodes", body: ("v1", "Node"), namespaced: false, ..CORE },
    Resource {
        plural: "namespaces",
        body: ("v1", "Namespace"),
        namespaced: false,
        // It has no deletecollection.
        verbs: ALL.split_at(ALL.len() - 1).0,
        ..CORE
    },
    Resource {
        plural: "clusterroles",
        body: ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        namespaced: false,
        ..RBAC
    },
    Resource {
        group: "authorization.k8s.io",
        plural: "selfsubjectaccessreviews",
        body: ("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
        namespaced: false,
        verbs: &[Verb::Create],
        ..CORE
    },
    Resource {
        group: "authorization.k8s.io",
        plural: "subjectaccessreviews",
        body: ("authorization.k8s.io/v1", "SubjectAccessReview"),
        namespaced: false,
        verbs: &[Verb::Create],
        ..CORE
    },
];

const PATHS: [&str; 6] = ["/version", "/healthz", "/api", "/apis", "/metrics", "/openid/v1/jwks"];

/// Every verb of every resource, in these namespaces, in all, and of the cluster.
pub(crate) fn grid(namespaces: &[&str]) -> Vec<Asked> {
    let mut grid: Vec<Asked> = PATHS.into_iter().map(Asked::Path).collect();
    for resource in &RESOURCES {
        for &verb in resource.verbs {
            if resource.namespaced {
                let places = namespaces.iter().map(|namespace| Some((*namespace).to_owned()));
                grid.extend(places.flat_map(|place| of_place(verb, resource, place)));
                let of_all = OF_ALL_NAMESPACES.contains(&verb);
                grid.extend(of_all.then(|| one(verb, resource, None, None)));
            } else {
                grid.extend(of_cluster(verb, resource, namespaces));
            }
        }
    }
    grid
}

/// In a namespace: of maps also one by its name, which is how a right with names is used.
fn of_place(verb: Verb, resource: &'static Resource, place: Option<String>) -> Vec<Asked> {
    let named = resource.is_named_by(verb);
    let mut asked = vec![one(verb, resource, place.clone(), named.then_some(PROBE))];
    if resource.body.1 == "ConfigMap" && resource.plural == "configmaps" {
        let has_name = named || OF_ALL_NAMESPACES.contains(&verb);
        asked.extend(has_name.then(|| one(verb, resource, place, Some(MAP))));
    }
    asked
}

/// Of the cluster: of namespaces also those by their names, which is where rights in a namespace reach.
fn of_cluster(verb: Verb, resource: &'static Resource, namespaces: &[&str]) -> Vec<Asked> {
    let named = resource.is_named_by(verb);
    let mut asked = vec![one(verb, resource, None, named.then_some(PROBE))];
    if named && resource.plural == "namespaces" {
        asked.extend(namespaces.iter().map(|namespace| one(verb, resource, None, Some(namespace))));
    }
    asked
}

fn one(verb: Verb, resource: &'static Resource, namespace: Option<String>, name: Option<&str>) -> Asked {
    Asked::Object { verb, resource, namespace, name: name.map(str::to_owned) }
}
