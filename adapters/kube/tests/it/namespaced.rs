//! The rights in one namespace, which a user with the least role gives to itself.

use std::time::Duration;

use crate::common::*;
use dcm_core::app_context::TokenRequest;
use dcm_core::logical_cloud::Level;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Call, Cluster, Error, NAMESPACE_BINDING, NAMESPACE_ROLE, Object, Origin};
use dcm_core::port::listing::list_all;
use dcm_core::preflight::{self, Needs};
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::effort::patience;
use dcm_testenv::{AuditFilter, Cluster as Server, Environment, Route, Stage};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A user with the least role, and no other right.
async fn engine(server: &Server, user: &str) -> KubeCluster {
    let role = preflight::cluster_role(user, preflight::rules(Needs::of_level(Level::Standard).accesses()));
    let role = serde_json::to_value(role).unwrap();
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": user},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    });
    for object in [role, binding, serde_json::to_value(preflight::namespace_role()).unwrap()] {
        kubectl(server, &["apply", "--server-side", "-f", "-"], &object.to_string());
    }
    let identity = server.issue(user, &[]).unwrap();
    let cluster = connect(&server.kubeconfig(&identity, Route::Direct), &Options::default()).await;
    let call = call(user);
    within(patience(), async {
        while cluster.review(&call, &every_access()).await.unwrap().contains(&false) {
            pause().await;
        }
    })
    .await;
    cluster
}

/// Waits between two looks at a cluster.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn every_access() -> Vec<dcm_core::port::cluster::Access> {
    Needs::of_level(Level::Standard).accesses().cloned().collect()
}

fn binding_kind() -> GroupVersionKind {
    kind(RBAC, "v1", "RoleBinding")
}

async fn own_binding(cluster: &KubeCluster, call: &Call, namespace: &str) -> Option<Object> {
    let key = key(&binding_kind(), Some(namespace), NAMESPACE_BINDING);
    cluster.get(call, &binding_kind(), &key).await.unwrap()
}

fn subjects_of(users: &[&str]) -> Value {
    users.iter().map(|user| json!({"apiGroup": RBAC, "kind": "User", "name": user})).collect()
}

fn token_of(namespace: &str) -> TokenRequest {
    TokenRequest {
        namespace: namespace.into(),
        service_account: "default".into(),
        lifetime_seconds: Some(600),
    }
}

/// Waits until Kubernetes has made what tokens are made for.
async fn has_account(cluster: &KubeCluster, call: &Call, namespace: &str) {
    let kind = kind("", "v1", "ServiceAccount");
    within(patience(), async {
        while cluster.get(call, &kind, &key(&kind, Some(namespace), "default")).await.unwrap().is_none() {
            pause().await;
        }
    })
    .await;
}

async fn lists(cluster: &KubeCluster, call: &Call, namespace: &str) -> Result<Vec<Object>, Error> {
    list_all(cluster, call, &kind("", "v1", "Secret"), Some(namespace), Some).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_the_least_role_has_the_rights_of_namespaces_only_where_it_needed_them() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (engine(server, "namespaced").await, call("namespaced"));
    for name in ["namespaced-one", "namespaced-two"] {
        namespace(&cluster, &call, name).await;
        has_account(&cluster, &call, name).await;
    }
    cluster.issue_token(&call, &token_of("namespaced-one")).await.unwrap();
    let binding = own_binding(&cluster, &call, "namespaced-one").await.unwrap();
    assert_eq!(binding.body["subjects"], subjects_of(&["namespaced"]));
    assert_eq!(binding.body["roleRef"]["name"], NAMESPACE_ROLE);
    assert!(!is_marked(&binding));
    lists(&cluster, &call, "namespaced-one").await.unwrap();
    for other in ["namespaced-two", "kube-system"] {
        let refused = lists(&cluster, &call, other).await.unwrap_err();
        assert!(matches!(refused, Error::Forbidden { .. }), "{other}: {refused}");
    }

    // What the namespace holds is counted without the binding, and the binding goes where the namespace is released.
    let contents = cluster.contents(&call, "namespaced-one", Some(&proofs())).await.unwrap();
    assert_eq!((contents.count, contents.sample), (0, Vec::new()));
    let kind = kind("", "v1", "Namespace");
    let key = key(&kind, None, "namespaced-one");
    let found = cluster.get(&call, &kind, &key).await.unwrap().unwrap();
    cluster.release(&call, &kind, &key, &observed(&found), Origin::Created).await.unwrap();
    assert!(own_binding(&cluster, &call, "namespaced-one").await.is_none());

    // It asks whether it has a right, and is never refused one that it did not test.
    let refused = AuditFilter::new().user("namespaced").code(403);
    let refused = server.audit_log().matching(&refused).unwrap();
    assert!(refused.iter().all(|event| event.request_uri.contains("/secrets")), "{refused:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_takes_the_place_of_the_earlier_one() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (earlier, later) = (engine(server, "earlier").await, engine(server, "later").await);
    let call = call("successor");
    namespace(&earlier, &call, "successor").await;
    earlier.contents(&call, "successor", None).await.unwrap();
    later.contents(&call, "successor", None).await.unwrap();
    let binding = own_binding(&later, &call, "successor").await.unwrap();
    assert_eq!(binding.body["subjects"], subjects_of(&["later"]));
    // A subject that another client adds has the rights only until the engine needs them.
    let patch = json!({"subjects": subjects_of(&["another"])}).to_string();
    let arguments =
        ["--namespace", "successor", "patch", "rolebinding", NAMESPACE_BINDING, "--type=merge", "-p"];
    kubectl(server, &[&arguments[..], &[&patch]].concat(), "");
    within(patience(), async {
        while lists(&later, &call, "successor").await.is_ok() {
            pause().await;
        }
    })
    .await;
    later.contents(&call, "successor", None).await.unwrap();
    let binding = own_binding(&later, &call, "successor").await.unwrap();
    assert_eq!(binding.body["subjects"], subjects_of(&["later"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_of_another_role_under_the_name_stays_and_is_reported() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (engine(server, "hindered").await, call("hindered"));
    namespace(&cluster, &call, "hindered").await;
    let theirs =
        ["--namespace", "hindered", "create", "rolebinding", NAMESPACE_BINDING, "--clusterrole=view"];
    kubectl(server, &[&theirs[..], &["--user=theirs"]].concat(), "");
    let refused = cluster.contents(&call, "hindered", None).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Forbidden { message } if message.contains("hindered/dcm:engine")),
        "{refused}"
    );
    let binding = own_binding(&cluster, &call, "hindered").await.unwrap();
    assert_eq!(binding.body["subjects"], subjects_of(&["theirs"]));
    // An administrator needs no binding, and counts theirs.
    let admin = administrator(server).await;
    let contents = admin.contents(&call, "hindered", None).await.unwrap();
    assert!(contents.sample.iter().any(|key| &*key.name == NAMESPACE_BINDING), "{contents:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_binds_nothing_and_asks_for_its_rights_once() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("administrator"));
    for name in ["administrator-one", "administrator-two"] {
        namespace(&cluster, &call, name).await;
        has_account(&cluster, &call, name).await;
        cluster.issue_token(&call, &token_of(name)).await.unwrap();
        cluster.contents(&call, name, None).await.unwrap();
        assert!(own_binding(&cluster, &call, name).await.is_none());
    }
    let reviews = AuditFilter::new().resource("selfsubjectaccessreviews").stage(Stage::ResponseComplete);
    let reviews = server.audit_log().matching(&reviews).unwrap();
    let own = reviews.iter().filter(|event| event.user_agent.contains(" owner=administrator "));
    assert_eq!(own.count(), 2, "one for tokens and one for lists");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_loses_its_rights_in_all_namespaces_gets_those_in_one() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (engine(server, "reduced").await, call("reduced"));
    namespace(&cluster, &call, "reduced").await;
    has_account(&cluster, &call, "reduced").await;
    let everywhere = ["create", "clusterrolebinding", "reduced-everywhere", "--user=reduced"];
    kubectl(server, &[&everywhere[..], &[&format!("--clusterrole={NAMESPACE_ROLE}")]].concat(), "");
    within(patience(), async {
        while lists(&cluster, &call, "reduced").await.is_err() {
            pause().await;
        }
    })
    .await;
    cluster.issue_token(&call, &token_of("reduced")).await.unwrap();
    assert!(own_binding(&cluster, &call, "reduced").await.is_none());

    kubectl(server, &["delete", "clusterrolebinding", "reduced-everywhere"], "");
    within(patience(), async {
        while lists(&cluster, &call, "reduced").await.is_ok() {
            pause().await;
        }
    })
    .await;
    cluster.issue_token(&call, &token_of("reduced")).await.unwrap();
    let binding = own_binding(&cluster, &call, "reduced").await.unwrap();
    assert_eq!(binding.body["subjects"], subjects_of(&["reduced"]));
}
