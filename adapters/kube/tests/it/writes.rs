//! What is written to a real API server, how often, by whom, and what is left of it.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use crate::common;

use common::*;
use dcm_core::port::cluster::{Cluster as _, Deletion, Error, Origin, Precondition};
use dcm_testenv::{AuditEvent, AuditFilter, Cluster as Server, Environment, Stage};
use serde_json::json;

/// The requests of an owner about a resource, in their order.
fn requests(server: &Server, owner: &str, resource: &str) -> Vec<AuditEvent> {
    let filter = AuditFilter::new().resource(resource).stage(Stage::ResponseComplete);
    let events = server.audit_log().matching(&filter).unwrap();
    events.into_iter().filter(|event| event.user_agent.contains(&format!(" owner={owner} "))).collect()
}

fn verbs(server: &Server, owner: &str, resource: &str) -> Vec<String> {
    requests(server, owner, resource).into_iter().map(|event| event.verb).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_says_who_makes_it_and_is_made_once() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("says-who"));
    namespace(&cluster, &call, "says-who").await;
    let made = cluster.create(&call, &data(&call, "says-who", "c", &json!({"a": "1"}))).await.unwrap();
    let again = cluster.create(&call, &data(&call, "says-who", "c", &json!({"a": "2"}))).await;
    assert!(matches!(again, Err(Error::AlreadyExists)), "{again:?}");
    let changed = data(&call, "says-who", "c", &json!({"a": "2"}));
    let changed = cluster.update(&call, &changed, &observed(&made), false).await.unwrap();
    let stale =
        cluster.update(&call, &data(&call, "says-who", "c", &json!({})), &observed(&made), true).await;
    assert!(matches!(stale, Err(Error::Conflict)), "{stale:?}");
    cluster.delete(&call, &changed.kind, &changed.key, &observed(&changed)).await.unwrap();

    let requests = requests(server, "says-who", "configmaps");
    let verbs: Vec<_> = requests.iter().map(|event| (event.verb.as_str(), event.code.unwrap())).collect();
    let expected =
        [("create", 201), ("create", 409), ("get", 200), ("patch", 200), ("get", 200), ("delete", 200)];
    assert_eq!(verbs, expected);
    assert!(requests.iter().all(|event| event.user_agent == call.user_agent()), "{requests:?}");
    assert!(requests[0].request_uri.contains("fieldManager=dcm"), "{requests:?}");
    assert!(requests[3].request_uri.contains("fieldManager=dcm"), "{requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_earlier_manifest_stays_and_what_others_wrote_does() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("leaves-nothing"));
    namespace(&cluster, &call, "leaves-nothing").await;
    let first = json!({"a": "1", "b": "1", "c": "1", "d": "1"});
    let mut object = cluster.create(&call, &data(&call, "leaves-nothing", "c", &first)).await.unwrap();
    let theirs = r#"{"data": {"theirs": "1"}, "metadata": {"labels": {"theirs": "1"}}}"#;
    kubectl(server, &["patch", "-n", "leaves-nothing", "configmap", "c", "-p", theirs], "");
    // (what the manifest says, whether others are forced)
    let steps = [
        (json!({"a": "2", "b": "1", "c": "1"}), false),
        (json!({"a": "2", "b": "2", "c": "1", "e": "1"}), false),
        (json!({"b": "2", "e": "2"}), true),
        (json!({"b": "2", "e": "2", "f": "1"}), true),
        (json!({"f": "1"}), false),
        (json!({}), false),
    ];
    object = cluster.get(&call, &object.kind, &object.key).await.unwrap().unwrap();
    for (said, force) in steps {
        let wanted = data(&call, "leaves-nothing", "c", &said);
        object = cluster.update(&call, &wanted, &observed(&object), force).await.unwrap();
        let mut expected = said.clone();
        expected["theirs"] = "1".into();
        assert_eq!(object.body["data"], expected);
        assert_eq!(labels_of_others(&object), json!({"theirs": "1"}));
        assert_eq!(object.marks, Some(wanted.marks));
    }
    let verbs = verbs(server, "leaves-nothing", "configmaps");
    let writes: Vec<&str> = verbs.iter().map(String::as_str).filter(|verb| *verb != "get").collect();
    assert_eq!(writes, ["create", "update", "patch", "update", "patch", "update", "patch"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_another_manager_holds_is_a_conflict_without_force() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("conflicts"));
    namespace(&cluster, &call, "conflicts").await;
    // One object that we made, where the conflict is found before the write, and one that we did not.
    let made = data(&call, "conflicts", "made", &json!({"mine": "1", "theirs": "0"}));
    cluster.create(&call, &made).await.unwrap();
    kubectl(server, &["create", "-n", "conflicts", "configmap", "found", "--from-literal=x=1"], "");
    for (name, left) in [("made", json!({"mine": "1"})), ("found", json!({"mine": "1", "x": "1"}))] {
        let theirs = r#"{"data": {"theirs": "1"}}"#;
        let manager = ["--field-manager", "somebody"];
        let arguments = ["patch", "-n", "conflicts", "configmap", name, "-p", theirs, manager[0], manager[1]];
        kubectl(server, &arguments, "");
        let key = key(&config_map(), Some("conflicts"), name);
        let live = cluster.get(&call, &config_map(), &key).await.unwrap().unwrap();
        for said in [json!({"mine": "1", "theirs": "2"}), json!({"theirs": "2"})] {
            let wanted = data(&call, "conflicts", name, &said);
            match cluster.update(&call, &wanted, &observed(&live), false).await.unwrap_err() {
                Error::FieldConflict { manager, field } => {
                    assert_eq!((manager.as_str(), field.as_str()), ("somebody", ".data.theirs"), "{name}");
                }
                error => panic!("{name}: {error}"),
            }
        }
        let wanted = data(&call, "conflicts", name, &json!({"mine": "1", "theirs": "2"}));
        let object = cluster.update(&call, &wanted, &observed(&live), true).await.unwrap();
        assert_eq!(object.body["data"]["theirs"], "2");
        let wanted = data(&call, "conflicts", name, &json!({"mine": "1"}));
        let object = cluster.update(&call, &wanted, &observed(&object), false).await.unwrap();
        assert_eq!(object.body["data"], left);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_with_keys_keep_what_others_put_in() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("lists"));
    namespace(&cluster, &call, "lists").await;
    let deployment = |containers: serde_json::Value| {
        let labels = json!({"app": "d"});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "lists"},
            "spec": {"selector": {"matchLabels": labels}, "template": template}});
        stamped(&call, body)
    };
    let first = json!([
        {"name": "gone", "image": "g"},
        {"name": "web", "image": "1", "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
         "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
    ]);
    let object = cluster.create(&call, &deployment(first)).await.unwrap();
    let sidecar = r#"{"spec": {"template": {"spec": {"containers": [
        {"name": "sidecar", "image": "s"}, {"name": "web", "env": [{"name": "C", "value": "1"}]}]}}}}"#;
    kubectl(server, &["patch", "-n", "lists", "deployment", "d", "-p", sidecar], "");
    let second = json!([
        {"name": "web", "image": "2", "ports": [{"containerPort": 80}], "env": [{"name": "B", "value": "2"}]},
    ]);
    let object = cluster.get(&call, &object.kind, &object.key).await.unwrap().unwrap();
    let object = cluster.update(&call, &deployment(second), &observed(&object), false).await.unwrap();
    let containers = object.body["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let named = |name: &str| containers.iter().find(|container| container["name"] == name);
    assert_eq!(containers.len(), 2, "{containers:?}");
    assert_eq!(named("sidecar").unwrap()["image"], "s");
    let web = named("web").unwrap();
    assert_eq!(web["image"], "2");
    assert_eq!(web["ports"], json!([{"containerPort": 80, "protocol": "TCP"}]));
    assert_eq!(web["env"], json!([{"name": "B", "value": "2"}, {"name": "C", "value": "1"}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_object_is_nobodys_and_keeps_its_content() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("releases"));
    namespace(&cluster, &call, "releases").await;
    for (name, shared) in [("alone", false), ("shared", true)] {
        let made = cluster.create(&call, &data(&call, "releases", name, &json!({"a": "1"}))).await.unwrap();
        if shared {
            let theirs = r#"{"metadata": {"labels": {"theirs": "1"}}}"#;
            kubectl(server, &["patch", "-n", "releases", "configmap", name, "-p", theirs], "");
        }
        let live = cluster.get(&call, &made.kind, &made.key).await.unwrap().unwrap();
        let stale = Precondition { resource_version: "1".into(), ..observed(&live) };
        let refused = cluster.release(&call, &made.kind, &made.key, &stale, Origin::Created).await;
        assert!(matches!(refused, Err(Error::Conflict)), "{refused:?}");
        let released =
            cluster.release(&call, &made.kind, &made.key, &observed(&live), Origin::Created).await.unwrap();
        assert!(!is_marked(&released));
        assert_eq!(released.marks, None);
        assert_eq!(released.body["data"], json!({"a": "1"}));
        assert_eq!(released.body["metadata"]["annotations"], json!(null));
        let expected = if shared { json!({"theirs": "1"}) } else { json!(null) };
        assert_eq!(labels_of_others(&released), expected);
        let managers = released.body["metadata"]["managedFields"].to_string();
        assert!(!managers.contains(r#""dcm""#), "{managers}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_says_whether_the_object_is_gone() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("deletes"));
    let space = namespace(&cluster, &call, "deletes").await;
    let bodies = [
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain", "namespace": "deletes"}}),
            Deletion::Gone,
        ),
        (
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "account", "namespace": "deletes"}}),
            Deletion::Gone,
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                   "metadata": {"name": "held", "namespace": "deletes", "finalizers": ["example.org/x"]}}),
            Deletion::Pending,
        ),
    ];
    for (body, expected) in bodies {
        let made = cluster.create(&call, &stamped(&call, body)).await.unwrap();
        let stale = Precondition { uid: "another".into(), ..observed(&made) };
        let refused = cluster.delete(&call, &made.kind, &made.key, &stale).await;
        assert!(matches!(refused, Err(Error::Conflict)), "{refused:?}");
        assert_eq!(cluster.delete(&call, &made.kind, &made.key, &observed(&made)).await.unwrap(), expected);
        let left = cluster.get(&call, &made.kind, &made.key).await.unwrap();
        assert_eq!(left.is_none(), expected == Deletion::Gone);
        if let Some(held) = left {
            assert_eq!(held.deleting, Some(vec!["example.org/x".into()]));
        } else {
            let again = cluster.delete(&call, &made.kind, &made.key, &observed(&made)).await;
            assert!(matches!(again, Err(Error::NotFound)), "{again:?}");
        }
    }
    let live = cluster.get(&call, &space.kind, &space.key).await.unwrap().unwrap();
    let deleted = cluster.delete(&call, &space.kind, &space.key, &observed(&live)).await.unwrap();
    assert_eq!(deleted, Deletion::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_and_what_is_defaulted_in_it_survives_updates() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("defaults"));
    let space = namespace(&cluster, &call, "defaults").await;
    let body = json!({"apiVersion": "v1", "kind": "Namespace",
                      "metadata": {"name": "defaults", "labels": {"mesh": "on"}}});
    let changed =
        cluster.update(&call, &stamped(&call, body.clone()), &observed(&space), false).await.unwrap();
    let expected = json!({"kubernetes.io/metadata.name": "defaults", "mesh": "on"});
    assert_eq!(labels_of_others(&changed), expected);
    assert_eq!(changed.body["spec"], json!({"finalizers": ["kubernetes"]}));
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "defaults"}});
    let changed = cluster.update(&call, &stamped(&call, body), &observed(&changed), false).await.unwrap();
    assert_eq!(labels_of_others(&changed), json!({"kubernetes.io/metadata.name": "defaults"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typing_error_in_a_manifest_is_refused() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("typing"));
    namespace(&cluster, &call, "typing").await;
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "dota": {"a": "1"},
                      "metadata": {"name": "c", "namespace": "typing"}});
    let refused = cluster.create(&call, &stamped(&call, body.clone())).await.unwrap_err();
    assert!(matches!(&refused, Error::Invalid { message } if message.contains("dota")), "{refused}");
    let made = cluster.create(&call, &data(&call, "typing", "c", &json!({}))).await.unwrap();
    let refused = cluster.update(&call, &stamped(&call, body), &observed(&made), false).await.unwrap_err();
    assert!(matches!(&refused, Error::Invalid { message } if message.contains("dota")), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_object_can_be_taken_again_and_what_is_no_longer_said_goes() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("retaken"));
    namespace(&cluster, &call, "retaken").await;
    let said = |said: serde_json::Value| data(&call, "retaken", "c", &said);
    let made = cluster.create(&call, &said(json!({"a": "1", "b": "1", "c": "1"}))).await.unwrap();
    let mut object =
        cluster.release(&call, &made.kind, &made.key, &observed(&made), Origin::Created).await.unwrap();
    for (wanted, expected) in [
        (json!({"a": "1", "b": "2"}), json!({"a": "1", "b": "2", "c": "1"})),
        (json!({"b": "3"}), json!({"b": "3", "c": "1"})),
        (json!({"b": "3", "c": "2"}), json!({"b": "3", "c": "2"})),
        (json!({}), json!(null)),
    ] {
        object = cluster.update(&call, &said(wanted), &observed(&object), false).await.unwrap();
        assert_eq!(object.body["data"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writes_based_on_one_state_one_happens() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("races"));
    namespace(&cluster, &call, "races").await;
    let said = |said: serde_json::Value| data(&call, "races", "c", &said);
    let first = json!({"a": "1", "b": "1"});
    // (what each of them says: an apply, and a replacement)
    for wanted in [json!({"a": "1", "b": "1", "n": "0"}), json!({"n": "0"})] {
        let made = cluster.create(&call, &said(first.clone())).await.unwrap();
        let (kind, key, state) = (&made.kind, &made.key, &observed(&made));
        let writes = (0..20).map(|n| {
            let mut wanted = wanted.clone();
            wanted["n"] = n.to_string().into();
            let (cluster, call, wanted) = (&cluster, &call, said(wanted));
            async move { cluster.update(call, &wanted, state, true).await }
        });
        let releases = (0..5).map(|_| cluster.release(&call, kind, key, state, Origin::Created));
        let (writes, releases) =
            futures::future::join(futures::future::join_all(writes), futures::future::join_all(releases))
                .await;
        let results: Vec<_> = writes.into_iter().chain(releases).collect();
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        assert!(
            results
                .iter()
                .filter_map(|result| result.as_ref().err())
                .all(|error| matches!(error, Error::Conflict))
        );
        let live = cluster.get(&call, kind, key).await.unwrap().unwrap();
        cluster.delete(&call, kind, key, &observed(&live)).await.unwrap();
    }
}
