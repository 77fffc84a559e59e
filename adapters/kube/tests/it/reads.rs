//! What is read from a real API server: kinds, watches, contents, rights, and what it says of itself.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use std::time::Duration;

use crate::common;
use crate::common::*;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{
    Access, Call, Cluster, Error, Object, Origin, Precondition, Watch, WatchEvent,
};
use dcm_kube::Options;
use dcm_testenv::effort::patience;
use dcm_testenv::{AuditFilter, Cluster as Server, Environment, Route, Stage};
use futures::StreamExt as _;
use serde_json::{Value, json};

/// The paths that an owner asked for, in their order.
fn paths(server: &Server, owner: &str) -> Vec<String> {
    let filter = AuditFilter::new().stage(Stage::ResponseComplete);
    let events = server.audit_log().matching(&filter).unwrap();
    let of_owner = events.into_iter().filter(|event| event.user_agent.contains(&format!(" owner={owner} ")));
    of_owner.map(|event| event.request_uri).collect()
}

/// A definition of namespaced widgets in a group of their own.
fn definition(group: &str) -> String {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}}}]}})
    .to_string()
}

fn widget(
    call: &Call,
    group: &str,
    namespace: &str,
    name: &str,
    spec: &Value,
) -> dcm_core::port::cluster::Stamped {
    let metadata = json!({"name": name, "namespace": namespace});
    stamped(
        call,
        json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": metadata, "spec": spec}),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_kind_is_discovered_once_and_again_when_it_is_not_known() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("custom"));
    namespace(&cluster, &call, "custom").await;
    let group = "custom.example.org";
    let kind = kind(group, "v1", "Widget");
    let key = key(&kind, Some("custom"), "w0");
    let missing = cluster.get(&call, &kind, &key).await.unwrap_err();
    assert!(matches!(missing, Error::UnknownKind { .. }), "{missing}");
    let missing = cluster.watch(&call, &selection(&call, &kind)).await.err().unwrap();
    assert!(matches!(missing, Error::UnknownKind { .. }), "{missing}");

    kubectl(server, &["apply", "-f", "-"], &definition(group));
    kubectl(server, &["wait", "--for=condition=established", "crd", &format!("widgets.{group}")], "");
    let count = paths(server, "custom").len();
    let widgets: Vec<_> = (0..5)
        .map(|n| widget(&call, group, "custom", &format!("w{n}"), &json!({"n": n, "old": 1})))
        .collect();
    let made = futures::future::join_all(widgets.iter().map(|widget| cluster.create(&call, widget))).await;
    let made: Vec<Object> = made.into_iter().map(Result::unwrap).collect();
    let asked = paths(server, "custom").split_off(count);
    let discoveries = asked.iter().filter(|path| *path == &format!("/apis/{group}/v1")).count();
    assert_eq!((discoveries, asked.len()), (1, 6), "{asked:?}");

    let wanted = widget(&call, group, "custom", "w1", &json!({"n": 7}));
    let changed = cluster.update(&call, &wanted, &observed(&made[1]), false).await.unwrap();
    assert_eq!(changed.body["spec"], json!({"n": 7}));

    // A kind of a known group that is not there, and a known kind that goes.
    let gadget = common::kind(group, "v1", "Gadget");
    let missing = cluster.get(&call, &gadget, &key).await.unwrap_err();
    assert!(matches!(missing, Error::UnknownKind { .. }), "{missing}");
    kubectl(server, &["delete", "crd", &format!("widgets.{group}")], "");
    // The server serves the kind for some moments after its definition is gone.
    let gone = within(patience(), async {
        loop {
            if let Err(error) = cluster.get(&call, &kind, &key).await {
                return error;
            }
        }
    });
    let gone = gone.await;
    assert!(matches!(gone, Error::UnknownKind { .. }), "{gone}");
    let gone = cluster.create(&call, &widgets[0]).await.unwrap_err();
    assert!(matches!(gone, Error::UnknownKind { .. }), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_kinds_need_no_discovery() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("built-in"));
    for (group, name, namespace) in [
        ("", "Namespace", None),
        ("", "ResourceQuota", Some("default")),
        ("", "LimitRange", Some("default")),
        ("", "ServiceAccount", Some("default")),
        ("", "ConfigMap", Some("default")),
        ("rbac.authorization.k8s.io", "Role", Some("default")),
        ("rbac.authorization.k8s.io", "RoleBinding", Some("default")),
        ("rbac.authorization.k8s.io", "ClusterRole", None),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding", None),
        ("certificates.k8s.io", "CertificateSigningRequest", None),
        ("networking.k8s.io", "NetworkPolicy", Some("default")),
        ("apps", "Deployment", Some("default")),
    ] {
        let kind = kind(group, "v1", name);
        let found = cluster.get(&call, &kind, &key(&kind, namespace, "no-such-thing")).await.unwrap();
        assert!(found.is_none(), "{kind}");
    }
    let asked = paths(server, "built-in");
    assert_eq!(asked.len(), 12, "{asked:?}");
}

/// The next event, which must come.
async fn next(watch: &mut Watch) -> WatchEvent {
    within(patience(), watch.next()).await.expect("the watch ended").unwrap()
}

fn listed(event: WatchEvent) -> Vec<String> {
    match event {
        WatchEvent::Listed(objects) => objects.iter().map(|object| object.key.name.to_string()).collect(),
        event => panic!("{event:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_tells_what_there_is_and_then_what_changes() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("watches"));
    namespace(&cluster, &call, "watches").await;
    let first = cluster.create(&call, &data(&call, "watches", "first", &json!({"a": "1"}))).await.unwrap();
    let mut watch = cluster.watch(&call, &selection(&call, &config_map())).await.unwrap();
    assert_eq!(listed(next(&mut watch).await), ["first"]);

    let changed = data(&call, "watches", "first", &json!({"a": "2"}));
    let changed = cluster.update(&call, &changed, &observed(&first), false).await.unwrap();
    let second = cluster.create(&call, &data(&call, "watches", "second", &json!({}))).await.unwrap();
    cluster.delete(&call, &second.kind, &second.key, &observed(&second)).await.unwrap();
    cluster.release(&call, &changed.kind, &changed.key, &observed(&changed), Origin::Created).await.unwrap();
    match next(&mut watch).await {
        WatchEvent::Applied(object) => {
            assert_eq!(object.body["data"], json!({"a": "2"}));
            assert_eq!(object.kind, config_map());
            assert_eq!(object.body["kind"], "ConfigMap");
        }
        event => panic!("{event:?}"),
    }
    assert!(matches!(next(&mut watch).await, WatchEvent::Applied(object) if object.uid == second.uid));
    assert!(matches!(next(&mut watch).await, WatchEvent::Deleted(object) if object.uid == second.uid));
    // What lost our label is gone for us.
    assert!(matches!(next(&mut watch).await, WatchEvent::Deleted(object) if object.uid == first.uid));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_comes_in_pages() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("pages"));
    namespace(&cluster, &call, "pages").await;
    let maps: Vec<_> = (0..620).map(|n| data(&call, "pages", &format!("c{n}"), &json!({}))).collect();
    for chunk in maps.chunks(100) {
        let made = futures::future::join_all(chunk.iter().map(|map| cluster.create(&call, map))).await;
        assert!(made.iter().all(Result::is_ok));
    }
    let mut watch = cluster.watch(&call, &selection(&call, &config_map())).await.unwrap();
    let objects = dcm_core::port::listing::listed(&mut watch, &config_map(), Some).await.unwrap();
    assert_eq!(objects.len(), 620);
    let pages = paths(server, "pages").into_iter().filter(|path| path.contains("limit=500")).count();
    assert_eq!(pages, 2);
}

/// A Deployment and a Service, and what the controllers of a whole Kubernetes make of the Deployment. Those of the environment make the
/// endpoints of the Service.
fn deployment_and_service(server: &Server) {
    let web =
        ["create", "-n", "contents", "deployment", "web", "--image=x", "-o", "jsonpath={.metadata.uid}"];
    let uid = kubectl(server, &web, "");
    kubectl(server, &["create", "-n", "contents", "service", "clusterip", "web", "--tcp=80"], "");
    let owner =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": true});
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}});
    for body in [
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
               "metadata": {"name": "web-1", "namespace": "contents", "ownerReferences": [owner]},
               "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}),
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "contents"},
               "involvedObject": {"namespace": "contents"}}),
    ] {
        kubectl(server, &["create", "-f", "-"], &body.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_what_people_put_into_a_namespace() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("contents"));
    namespace(&cluster, &call, "contents").await;
    cluster.create(&call, &data(&call, "contents", "ours", &json!({}))).await.unwrap();
    let of_other_context =
        Call { context: Some(dcm_core::name::ContextId::new("lc-2").unwrap()), ..call.clone() };
    cluster.create(&call, &data(&of_other_context, "contents", "other-context", &json!({}))).await.unwrap();
    deployment_and_service(server);
    for kind in ["serviceaccounts", "configmaps/kube-root-ca.crt", "endpoints/web", "endpointslices"] {
        eventually(server, &["get", "-n", "contents", kind, "-o", "name", "--ignore-not-found"]).await;
    }
    let contents = cluster.contents(&call, "contents", Some(&proofs())).await.unwrap();
    let sample: Vec<String> = contents.sample.iter().map(ToString::to_string).collect();
    let expected =
        ["ConfigMap contents/other-context", "Service contents/web", "Deployment.apps contents/web"];
    assert_eq!(sample, expected);
    assert_eq!(contents.count, 3);
    assert_eq!(cluster.contents(&call, "no-such-namespace", None).await.unwrap().count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kinds_are_those_of_namespaced_objects_that_can_be_listed_and_deleted_each_once() {
    let environment = Environment::shared(1).await.unwrap();
    let (cluster, call) = (administrator(&environment.clusters()[0]).await, call("kinds"));
    let kinds = cluster.kinds(&call).await.unwrap().known;
    for (group, version, kind) in [("", "v1", "ConfigMap"), ("policy", "v1", "PodDisruptionBudget")] {
        let kind = GroupVersionKind::new(group, version, kind);
        assert_eq!(kinds.iter().filter(|one| **one == kind).count(), 1, "{kind}");
    }
    for absent in ["Namespace", "SubjectAccessReview", "Binding"] {
        assert!(kinds.iter().all(|kind| &*kind.kind != absent), "{absent}");
    }
}

/// Waits until kubectl prints something.
async fn eventually(server: &Server, arguments: &[&str]) {
    within(patience(), async {
        while kubectl(server, arguments, "").is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_listed_is_an_error_and_rights_can_be_asked_for() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let call = call("rights");
    kubectl(server, &["create", "namespace", "rights"], "");
    let rule = ["create", "clusterrole", "rights", "--verb=list,create", "--resource=configmaps"];
    kubectl(server, &rule, "");
    let binding = ["create", "clusterrolebinding", "rights", "--clusterrole=rights", "--user=rights-user"];
    kubectl(server, &binding, "");
    let user = server.issue("rights-user", &[]).unwrap();
    let cluster = connect(&server.kubeconfig(&user, Route::Direct), &Options::default()).await;
    let access = |verb: &str, resource: &str| Access {
        verb: verb.into(),
        group: "".into(),
        resource: resource.into(),
        subresource: "".into(),
        name: "".into(),
        namespace: Some("rights".into()),
    };
    let asked =
        [access("create", "configmaps"), access("delete", "configmaps"), access("list", "configmaps")];
    within(patience(), async {
        while cluster.review(&call, &asked).await.unwrap() != [true, false, true] {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let refused = cluster.contents(&call, "rights", None).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Forbidden { message } if message.contains("in namespace rights is missing, and RoleBinding dcm:engine")),
        "{refused}"
    );
    let made = cluster.create(&call, &data(&call, "rights", "c", &json!({}))).await.unwrap();
    let refused = cluster.delete(&call, &made.kind, &made.key, &observed(&made)).await.unwrap_err();
    assert!(matches!(refused, Error::Forbidden { .. }), "{refused}");
    let stranger = "https://127.0.0.1:1";
    let kubeconfig = server.kubeconfig(&user, Route::Direct).replace(&server.url_by(Route::Direct), stranger);
    let unreachable = connect(&kubeconfig, &Options::default()).await.uid(&call).await.unwrap_err();
    assert!(matches!(unreachable, Error::Unreachable { .. }), "{unreachable}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_of_elsewhere_is_not_accepted() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let call = call("elsewhere");
    let user = server.issue("x", &[]).unwrap();
    // A token that nobody issued, in place of the certificate.
    let kubeconfig = server.kubeconfig(&user, Route::Direct);
    let with_token: String = kubeconfig
        .lines()
        .filter(|line| !line.contains("client-key-data"))
        .map(|line| match line.split_once("client-certificate-data:") {
            Some((indent, _)) => format!("{indent}token: hunter2\n"),
            None => format!("{line}\n"),
        })
        .collect();
    let refused = connect(&with_token, &Options::default()).await.uid(&call).await.unwrap_err();
    assert!(matches!(refused, Error::Unauthorized { .. }), "{refused}");
    assert!(!format!("{refused:?}").contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_says_who_it_is_and_what_time_it_is() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("says"));
    let uid = kubectl(server, &["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"], "");
    assert_eq!(&*cluster.uid(&call).await.unwrap().0, uid);
    let before = jiff::Timestamp::now();
    let info = cluster.server_info(&call).await.unwrap();
    let after = jiff::Timestamp::now();
    assert!(info.version.starts_with("v1."), "{info:?}");
    // The server and this test have one clock; an answer says its time in whole seconds.
    let (time, second) = (info.time.unwrap(), jiff::SignedDuration::from_secs(1));
    assert!(time > before - second && time <= after, "{before} {time} {after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_and_tokens_are_issued() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("issues"));
    namespace(&cluster, &call, "issues").await;
    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "issues"}, "spec": {"request": signing_request(), "usages": ["client auth"],
        "signerName": "kubernetes.io/kube-apiserver-client", "expirationSeconds": 600}});
    let made = cluster.create(&call, &stamped(&call, request)).await.unwrap();
    let seen = Precondition { uid: made.uid.clone(), resource_version: made.resource_version.clone() };
    cluster.approve(&call, &made.key, &seen).await.unwrap();
    let stale = cluster.approve(&call, &made.key, &seen).await.unwrap_err();
    assert!(matches!(stale, Error::Conflict), "{stale}");
    let issued = within(patience(), async {
        loop {
            let live = cluster.get(&call, &made.kind, &made.key).await.unwrap().unwrap();
            if let Some(certificate) = live.body["status"]["certificate"].as_str() {
                return certificate.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(!issued.is_empty());
    let approvals =
        AuditFilter::new().resource("certificatesigningrequests").name("issues").subresource("approval");
    let approvals = server.audit_log().matching(&approvals.stage(Stage::ResponseComplete)).unwrap();
    let codes: Vec<u16> = approvals.iter().filter_map(|event| event.code).collect();
    assert_eq!(codes, [200, 409]);

    let request = TokenRequest {
        namespace: "issues".into(),
        service_account: "default".into(),
        lifetime_seconds: Some(600),
    };
    eventually(server, &["get", "-n", "issues", "serviceaccounts", "-o", "name"]).await;
    let before = jiff::Timestamp::now();
    let issued = cluster.issue_token(&call, &request).await.unwrap();
    assert!(issued.token.expose().len() > 100);
    let lifetime = issued.expires.duration_since(before);
    assert!(lifetime > jiff::SignedDuration::from_secs(500), "{lifetime}");
    let missing = TokenRequest { service_account: "missing".into(), ..request };
    let missing = cluster.issue_token(&call, &missing).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound), "{missing}");
}

/// A request for a client certificate, made at run time, in base64 as the API wants it.
fn signing_request() -> String {
    use base64::Engine as _;
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::default();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "issues-user");
    let request = parameters.serialize_request(&key).unwrap().pem().unwrap();
    base64::engine::general_purpose::STANDARD.encode(request)
}
