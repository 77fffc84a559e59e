//! Where each route of the documented dialect comes from.

use dcm_rest::Route;

/// In the API that was specified for this product, with its path and its codes.
const SPECIFIED: &[&str] = &[
    "GET PUT DELETE /v2/projects/{project}/logical-clouds/{cloud}",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/apply",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/status",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/kubeconfig",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/cluster-references",
    "DELETE /v2/projects/{project}/logical-clouds/{cloud}/cluster-references/{name}",
    "GET POST /v2/projects/{project}/logical-clouds/{cloud}/kv-pairs",
    "GET PUT DELETE /v2/projects/{project}/logical-clouds/{cloud}/kv-pairs/{name}",
];

/// Without which what is specified can't be used from an empty store, or is only half there.
const COMPLETED: &[&str] = &[
    "GET POST /v2/projects",
    "GET PUT DELETE /v2/projects/{project}",
    "GET POST /v2/cluster-providers",
    "GET PUT DELETE /v2/cluster-providers/{provider}",
    "GET POST /v2/cluster-providers/{provider}/clusters",
    "GET PUT DELETE /v2/cluster-providers/{provider}/clusters/{cluster}",
    "GET POST /v2/controllers",
    "GET PUT DELETE /v2/controllers/{controller}",
    "GET POST /v2/cluster-controllers",
    "GET PUT DELETE /v2/cluster-controllers/{controller}",
    "GET POST /v2/projects/{project}/logical-clouds",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/terminate",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/stop",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/resume",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/cluster-references",
    "GET PUT /v2/projects/{project}/logical-clouds/{cloud}/cluster-references/{name}",
    "GET POST /v2/projects/{project}/logical-clouds/{cloud}/user-permissions",
    "GET PUT DELETE /v2/projects/{project}/logical-clouds/{cloud}/user-permissions/{name}",
    "GET POST /v2/projects/{project}/logical-clouds/{cloud}/quotas",
    "GET PUT DELETE /v2/projects/{project}/logical-clouds/{cloud}/quotas/{name}",
    "GET POST /v2/projects/{project}/logical-clouds/{cloud}/cluster-quotas",
    "GET PUT DELETE /v2/projects/{project}/logical-clouds/{cloud}/cluster-quotas/{name}",
];

/// For what only this product has.
const ADDED: &[&str] = &[
    "GET POST /v2/cluster-providers/{provider}/clusters/{cluster}/check",
    "POST /v2/cluster-providers/{provider}/clusters/{cluster}/stop",
    "POST /v2/cluster-providers/{provider}/clusters/{cluster}/resume",
    "POST /v2/cluster-providers/{provider}/clusters/{cluster}/accept",
    "GET /v2/cluster-providers/{provider}/clusters/{cluster}/orphans",
    "DELETE /v2/cluster-providers/{provider}/clusters/{cluster}/orphans/{context}",
    "GET PUT /v2/projects/{project}/logical-clouds/{cloud}/document",
    "GET DELETE /v2/projects/{project}/logical-clouds/{cloud}/other-bindings",
    "GET POST /v2/projects/{project}/logical-clouds/{cloud}/plan",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/renew",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/reconcile",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/events",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/service-mesh",
    "GET POST /v2/projects/{project}/logical-clouds/{cloud}/users",
    "GET PUT DELETE /v2/projects/{project}/logical-clouds/{cloud}/users/{name}",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/credential",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/subject",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revoke",
    "GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revocation",
    "GET /v2/projects/{project}/audit",
    "GET /v2/audit",
    "GET /metrics",
    "GET /openapi.json",
    "GET /docs",
    "GET /problems",
    "GET /problems/{problem}",
];

const SOURCES: [(&str, &[&str]); 3] = [("specified", SPECIFIED), ("completed", COMPLETED), ("added", ADDED)];

/// Each method and path of some lines.
fn each<'a>(lines: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    lines.iter().flat_map(|line| {
        let (methods, path) = line.rsplit_once(' ').unwrap();
        methods.split(' ').map(move |method| (method, path))
    })
}

/// Where a route comes from: each one from one place.
pub(crate) fn of(route: &Route) -> &'static str {
    let is_it = |(method, path): (&str, &str)| route.method() == method && route.path() == path;
    let mut found = SOURCES.into_iter().filter(|(_, lines)| each(lines).any(is_it)).map(|(source, _)| source);
    let source = found.next().unwrap_or_else(|| panic!("{} {} has no source", route.method(), route.path()));
    assert_eq!(found.next(), None, "{} {} has another source, too", route.method(), route.path());
    source
}

#[test]
fn there_is_a_route_for_each_line() {
    let routes = dcm_rest::documented::routes();
    for (method, path) in SOURCES.into_iter().flat_map(|(_, lines)| each(lines)) {
        let is_there = routes.iter().any(|route| route.method() == method && route.path() == path);
        assert!(is_there, "there is no route {method} {path}");
    }
}
