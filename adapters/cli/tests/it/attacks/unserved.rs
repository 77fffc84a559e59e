//! Attack n: the definition of a custom object of a cloud is removed.

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::victims::cloud;
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, make, timeout, until};
use crate::common::leftovers::namespaces;

/// The API server of these tests alone: definitions change what all others there can list.
async fn environment() -> Environment {
    Environment::group("attacks-unserved", 1).await.unwrap()
}

/// A definition of namespaced widgets in a group of their own, with its versions; the last one is stored.
fn definition(group: &str, versions: &[(&str, bool)]) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let last = versions.len() - 1;
    let version = |(place, (name, is_served)): (usize, &(&str, bool))| json!({"name": name, "served": is_served, "storage": place == last, "schema": schema});
    let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": versions,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}}})
}

/// Has a cluster serve widgets, which the engine may write.
async fn define(installation: &Installation<'_>, cluster: &Cluster, group: &str, versions: &[(&str, bool)]) {
    make(cluster, &definition(group, versions));
    let (resource, identity) = (format!("widgets.{group}"), &installation.identity);
    kubectl(cluster, &["wait", "--for=condition=established", "crd", &resource]);
    until("the kind to be served", async || {
        let listed = cluster.kubectl().args(["get", &resource, "-A"]).output().unwrap();
        listed.status.success().then_some(())
    })
    .await;
    let (resources, role) = (format!("--resource={resource}"), format!("--clusterrole={identity}-widgets"));
    let name = format!("{identity}-widgets");
    kubectl(cluster, &["create", "clusterrole", &name, "--verb=*", &resources]);
    kubectl(cluster, &["create", "clusterrolebinding", &name, &role, &format!("--user={identity}")]);
}

fn widget(group: &str) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "b"}})
}

/// Removes the definition, and waits until the kind is not served.
async fn undefine(cluster: &Cluster, group: &str) {
    let resource = format!("widgets.{group}");
    kubectl(cluster, &["delete", "crd", &resource]);
    until("the kind not to be served", async || {
        let listed = cluster.kubectl().args(["get", &resource, "-A"]).output().unwrap();
        (!listed.status.success()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_n_a_cloud_with_an_object_whose_definition_was_removed_is_terminated_without_a_worker() {
    const CLOUD: &str = "attack-n-alone";
    const GROUP: &str = "alone.example.org";
    let environment = environment().await;
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    define(&installation, cluster, GROUP, &[("v1", true)]).await;
    installation.apply(&cloud(&installation, CLOUD, 10, &[widget(GROUP)])).done();
    undefine(cluster, GROUP).await;
    installation.terminate(CLOUD).done();
    assert_eq!(namespaces(cluster, CLOUD), "");
    installation.person.run(["delete", CLOUD]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_n_bindings_end_beside_kept_objects_whose_definition_was_removed_with_a_worker() {
    const CLOUD: &str = "attack-n-kept";
    const GROUP: &str = "kept.example.org";
    let environment = environment().await;
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    define(&installation, cluster, GROUP, &[("v1", true)]).await;
    let document = cloud(&installation, CLOUD, 10, &[widget(GROUP)]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    undefine(cluster, GROUP).await;
    installation.person.run(["terminate", CLOUD, "--keep-objects", "--timeout", &timeout()]).done();
    let bound = kubectl(
        cluster,
        &["-n", CLOUD, "get", "rolebindings", "-o", "jsonpath={.items[*].subjects[*].name}"],
    );
    assert!(!bound.contains("ann") && !bound.contains("ci-"), "{bound}");
    installation.person.run(["delete", CLOUD]).done();
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_n_an_object_whose_version_was_removed_is_deleted_in_another_one() {
    const CLOUD: &str = "attack-n-version";
    const GROUP: &str = "version.example.org";
    let environment = environment().await;
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    define(&installation, cluster, GROUP, &[("v1", true), ("v2", true)]).await;
    installation.apply(&cloud(&installation, CLOUD, 10, &[widget(GROUP)])).done();
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/served", "value": false}]).to_string();
    kubectl(cluster, &["patch", "crd", &format!("widgets.{GROUP}"), "--type", "json", "-p", &patch]);
    until("v1 not to be served", async || {
        let listed = cluster.kubectl().args(["get", "--raw", &format!("/apis/{GROUP}/v1")]).output().unwrap();
        (!listed.status.success()).then_some(())
    })
    .await;
    let since = installation.moment();
    installation.terminate(CLOUD).done();
    assert_eq!(namespaces(cluster, CLOUD), "");
    let writes = &installation.writes(&since)[0];
    assert!(writes.iter().any(|write| write == "delete widgets w"), "{writes:?}");
}
