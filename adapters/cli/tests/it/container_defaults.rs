//! What containers get that name no requests and limits, beside quotas and LimitRanges of all sorts, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common::installation::{Installation, until};
use crate::common::{Ran, fed};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

/// One is enough: each case is about the admission of one API server.
const CLUSTERS: usize = 1;

/// A logical cloud, and what its pods get.
struct Case {
    name: &'static str,
    /// The one item of a LimitRange that it brings; null: it brings none.
    item: Value,
    hard: Value,
    /// `spec.containerDefaults`.
    defaults: Value,
    /// The resources of a container that says nothing.
    gets: Value,
}

fn brought(name: &'static str, item: Value, gets: Value) -> Case {
    Case { name, item, hard: json!({"limits.cpu": 4}), defaults: json!({}), gets }
}

fn written(name: &'static str, hard: Value, defaults: Value, gets: Value) -> Case {
    Case { name, item: Value::Null, hard, defaults, gets }
}

fn both(cpu: &str) -> Value {
    json!({"limits": {"cpu": cpu}, "requests": {"cpu": cpu}})
}

fn cases() -> [Case; 9] {
    let container = |member: &str, cpu: &str| json!({"type": "Container", member: {"cpu": cpu}});
    [
        brought("most", container("max", "300m"), both("300m")),
        brought("given", container("default", "200m"), both("200m")),
        brought("asked", container("defaultRequest", "1"), both("1")),
        brought("least", container("min", "750m"), both("750m")),
        brought(
            "pods",
            json!({"type": "Pod", "max": {"cpu": "300m"}}),
            json!({"limits": {"cpu": "300m"}, "requests": {"cpu": "100m"}}),
        ),
        brought(
            "other",
            json!({"type": "Container", "max": {"memory": "256Mi"}}),
            json!({"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}}),
        ),
        written(
            "written",
            json!({"limits.cpu": 4}),
            json!({"requests": {"cpu": "50m"}, "limits": {"cpu": "250m", "memory": "256Mi"}}),
            json!({"limits": {"cpu": "250m", "memory": "256Mi"}, "requests": {"cpu": "50m", "memory": "128Mi"}}),
        ),
        written("without", json!({"limits.cpu": 4}), json!({"requests": {"cpu": 0}}), both("500m")),
        written(
            "larger",
            json!({"limits.memory": "8Gi"}),
            json!({"requests": {"memory": "1Gi"}}),
            json!({"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}),
        ),
    ]
}

fn spec(case: &Case) -> Value {
    let mut spec = json!({
        "level": "privileged",
        "users": [{"name": "ann"}],
        "quotas": [{"name": "compute", "hard": case.hard}],
        "containerDefaults": case.defaults,
    });
    if !case.item.is_null() {
        let range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "own"}, "spec": {"limits": [case.item]}});
        spec["manifests"] = json!([range]);
    }
    spec
}

/// What the API server makes of a pod with one container that says nothing.
fn tried(cluster: &Cluster, namespace: &str) -> Ran {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "silent", "namespace": namespace},
        "spec": {"containers": [{"name": "silent", "image": "example.com/silent"}]}});
    fed(cluster.kubectl().args(["create", "--dry-run=server", "-o", "json", "-f", "-"]), &pod.to_string())
}

#[tokio::test]
async fn containers_that_say_nothing_get_what_quotas_and_limit_ranges_admit() {
    let environment = Environment::group("container_defaults", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "defaults");
    let [cluster] = installation.clusters() else { panic!() };
    for case in cases() {
        let name = format!("defaults-{}", case.name);
        let document = installation.document(&name, spec(&case));
        installation.apply(&document).done();
        // An API server hears of a LimitRange, a quota and an account a little later.
        until(case.name, async || {
            let ran = tried(cluster, &name);
            let pod: Value = serde_json::from_str(&ran.out).unwrap_or_default();
            (pod["spec"]["containers"][0]["resources"] == case.gets).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_plan_names_what_containers_get_and_an_implausible_quota_gives_nothing_and_a_warning() {
    let environment = Environment::group("container_defaults", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "planned");
    let plan = |hard: Value| {
        let spec = json!({"users": [{"name": "ann"}], "quotas": [{"name": "compute", "hard": hard}]});
        let document = installation.document("defaults-planned", spec);
        installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string())
    };
    let planned = plan(json!({"limits.cpu": 4}));
    let gets = "containers without limits get cpu 500m; containers without requests get cpu 100m";
    assert!(planned.out.contains(gets), "{planned:#?}");
    for (key, amount) in [
        ("limits.memory", "512"),
        ("requests.memory", "100m"),
        ("requests.ephemeral-storage", "64k"),
        ("limits.cpu", "500u"),
    ] {
        let planned = plan(json!({key: amount}));
        assert!(!planned.out.contains("containers without"), "{planned:#?}");
        assert!(planned.err.contains(&format!("spec.quotas[0].hard[\"{key}\"]")), "{planned:#?}");
    }
}
