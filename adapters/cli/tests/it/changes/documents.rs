//! Users, permissions, quotas and labels that are changed, or only said otherwise.

use dcm_testenv::Environment;
use serde_json::json;

use crate::changes::{each, owned, part, rule, spec};
use crate::common::installation::{CLUSTERS, Installation, until};

#[tokio::test]
async fn one_changed_permission_is_one_write_a_cluster_and_nothing_changed_is_no_write() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "counted");
    let mut document = installation.document("counted", spec());
    installation.apply(&document).done();
    let applied = installation.moment();
    installation.apply(&document).done();
    assert_eq!(installation.writes(&applied), each(&[]));

    document["spec"]["permissions"][0] = rule("look", &["get", "list", "watch"]);
    installation.apply(&document).done();
    assert_eq!(installation.writes(&applied), each(&["patch roles look"]));
}

#[tokio::test]
async fn a_worker_that_takes_over_what_is_done_writes_what_is_changed_and_nothing_else() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "inherited");
    let mut document = installation.document("inherited", spec());
    installation.apply(&document).done();
    let applied = installation.moment();
    let worker = installation.serve();
    until("a worker that follows all clusters", async || {
        let follows = |requests: Vec<String>| requests.contains(&"watch roles -".to_owned());
        installation.requests(&applied).into_iter().all(follows).then_some(())
    })
    .await;
    document["spec"]["permissions"][0] = rule("look", &["get", "list", "watch"]);
    installation.apply(&document).done();
    assert_eq!(installation.writes(&applied), each(&["patch roles look"]));
    worker.stop();
}

#[tokio::test]
async fn another_spelling_or_order_of_the_same_is_no_write() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "spelled");
    let mut document = installation.document("spelled", spec());
    installation.apply(&document).done();
    let applied = installation.moment();

    let spec = &mut document["spec"];
    spec["quotas"][0]["hard"]["limits.cpu"] = 1.into();
    for list in ["users", "permissions", "clusters"] {
        spec[list].as_array_mut().unwrap().reverse();
    }
    for permission in spec["permissions"].as_array_mut().unwrap() {
        for list in ["verbs", "resources"] {
            permission[list].as_array_mut().unwrap().reverse();
        }
    }
    installation.apply(&document).done();
    assert_eq!(installation.writes(&applied), each(&[]));
    for cluster in installation.clusters() {
        assert_eq!(part(cluster, "spelled", "resourcequota/compute", ".spec.hard.limits\\.cpu"), "1");
    }
}

#[tokio::test]
async fn a_quota_key_a_label_and_a_verb_that_are_taken_out_are_gone() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "fewer");
    let mut document = installation.document("fewer", spec());
    installation.apply(&document).done();
    let applied = installation.moment();

    let spec = &mut document["spec"];
    spec["quotas"][0]["hard"] = json!({"limits.cpu": 1});
    spec["labels"] = json!({"example.com/team": "t"});
    spec["permissions"][0] = rule("look", &["get"]);
    installation.apply(&document).done();
    for cluster in installation.clusters() {
        assert_eq!(part(cluster, "fewer", "resourcequota/compute", ".spec.hard"), r#"{"limits.cpu":"1"}"#);
        assert_eq!(part(cluster, "fewer", "role/look", ".rules[*].verbs"), r#"["get"]"#);
        let labels = part(cluster, "fewer", "namespace/fewer", ".metadata.labels");
        assert!(labels.contains("example.com/team") && !labels.contains("example.com/tier"), "{labels}");
    }
    for writes in installation.writes(&applied) {
        assert_eq!(writes.len(), 3, "{writes:?}");
    }
}

#[tokio::test]
async fn a_permission_that_is_taken_out_is_gone_with_its_binding_and_the_namespace_tells_of_it() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "forbidden");
    let mut document = installation.document("forbidden", spec());
    installation.apply(&document).done();
    let applied = installation.moment();
    document["spec"]["permissions"].as_array_mut().unwrap().pop();
    installation.apply(&document).done();
    assert_eq!(
        installation.writes(&applied),
        each(&["delete rolebindings run", "delete roles run", "update namespaces forbidden"])
    );
    for cluster in installation.clusters() {
        let owned = owned(cluster, "forbidden");
        assert!(!owned.iter().any(|object| object.ends_with("/run")), "{owned:?}");
    }
}
