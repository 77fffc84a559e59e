//! One cluster under two names.

use dcm_testenv::{Cluster, Route};
use serde_json::{Value, json};

use crate::attacks::environment;
use crate::common::User;
use crate::common::confined::Confined;
use crate::common::installation::{kubectl, timeout};

/// A cloud on clusters of these names.
fn document(cloud: &str, clusters: &[&str]) -> String {
    let reference = |name: &&str| json!({"provider": "lab", "cluster": name});
    let clusters: Vec<Value> = clusters.iter().map(reference).collect();
    let permission = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": cloud}, "spec": {
        "users": [{"name": "bot", "type": "token"}], "permissions": [permission],
        "quotas": [{"name": "size", "hard": {"pods": 10}}], "clusters": clusters}})
    .to_string()
}

fn apply(user: &User, document: &str, timeout: &str) -> i32 {
    user.run_with_input(&["apply", "--timeout", timeout, "-f", "-"], document).code
}

/// What a cloud has in its namespace, with the UIDs.
fn objects(cluster: &Cluster, cloud: &str) -> String {
    let kinds = "roles,rolebindings,resourcequotas,serviceaccounts";
    let path = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{\"\\n\"}{end}";
    let namespace = ["get", "namespace", cloud, "-o", "jsonpath={.metadata.uid} {.metadata.labels}"];
    kubectl(cluster, &namespace) + &kubectl(cluster, &["-n", cloud, "get", kinds, "-o", path])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_registered_is_refused_under_a_second_name() {
    let environment = environment().await;
    let cluster = &environment.clusters()[0];
    let user = User::new();
    let kubeconfig = |route| Confined::Standard.kubeconfig(cluster, "dcm-second-name", route);
    let file = user.write("kubeconfig", &kubeconfig(Route::Direct));
    let add = |name: &str, more: &[&str]| {
        let mut arguments = vec!["cluster", "add", name, "--kubeconfig", file.to_str().unwrap()];
        arguments.extend(more);
        user.run(arguments)
    };
    add("lab/one", &[]).done();
    let refused = add("lab/two", &[]).ended_with(5);
    assert!(refused.contains("registered as lab/one"), "{refused}");
    let listed = user.run(["cluster", "list"]).done();
    assert!(!listed.contains("lab/two"), "{listed}");

    // By another way to the same server, too.
    let proxied = user.write("proxied", &kubeconfig(Route::Proxy));
    let refused =
        user.run(["cluster", "add", "lab/two", "--kubeconfig", proxied.to_str().unwrap()]).ended_with(5);
    assert!(refused.contains("registered as lab/one"), "{refused}");

    // Where it is registered without a look, the check and the engine find it.
    add("lab/two", &["--unchecked"]).done();
    let checked = user.run(["cluster", "check", "lab/two", "-o", "json"]);
    assert_eq!(checked.code, 5, "{checked:?}");
    let checked: Value = serde_json::from_str(&checked.out).unwrap();
    assert_eq!(checked["registeredAs"], "lab/one");

    // Once it is unregistered under its first name, it may have another one.
    user.run(["cluster", "remove", "lab/two"]).done();
    user.run(["cluster", "remove", "lab/one"]).done();
    add("lab/two", &[]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_name_of_a_cluster_takes_nothing_from_the_first() {
    let environment = environment().await;
    let (cluster, cloud) = (&environment.clusters()[0], "twins");
    let user = User::new();
    let kubeconfig = Confined::Standard.kubeconfig(cluster, "dcm-twins", Route::Direct);
    let file = user.write("kubeconfig", &kubeconfig);
    user.run(["cluster", "add", "lab/one", "--kubeconfig", file.to_str().unwrap()]).done();
    user.run(["cluster", "add", "lab/two", "--unchecked", "--kubeconfig", file.to_str().unwrap()]).done();
    assert_eq!(apply(&user, &document(cloud, &["one"]), &timeout()), 0);
    let before = objects(cluster, cloud);

    assert_eq!(apply(&user, &document(cloud, &["one", "two"]), &timeout()), 5);
    let status: Value = serde_json::from_str(&user.run(["status", cloud, "-o", "json"]).done()).unwrap();
    assert_eq!(status["clusters"]["lab/one"]["lane"]["state"], "done");
    let cause = &status["clusters"]["lab/two"]["lane"]["cause"];
    assert_eq!(cause["reason"], "same-cluster", "{status:#}");
    assert!(cause["message"].as_str().unwrap().contains("lab/one"), "{cause}");

    assert_eq!(apply(&user, &document(cloud, &["one"]), &timeout()), 0);
    assert_eq!(objects(cluster, cloud), before);
    user.run(["terminate", cloud, "--timeout", &timeout()]).done();
}
