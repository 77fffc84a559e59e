//! What keeps the pods of a project admin's logical cloud off their hosts, on a real API server: the label of its namespace, which
//! neither its users nor who gives them their rights can change.

use dcm_testenv::{Cluster, Environment, Route};
use http::{Method, Request, StatusCode, header};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::access::callers::{Guarded, Headers};
use crate::common::confined::Confined;
use crate::common::fed;
use crate::common::installation::{kubectl, until};
use crate::common::server::Server;

const CLOUDS: &str = "/v2/projects/shop-1/logical-clouds";

/// By this label Kubernetes decides which pods may run in a namespace.
const LABEL: &str = "pod-security.kubernetes.io/enforce";

/// A logical cloud that a project admin makes over HTTP, on a real API server; its namespace has its name.
struct Stall {
    name: &'static str,
    environment: Environment,
    server: Server,
    headers: Headers,
}

impl Stall {
    /// It is on its cluster, and has a user who may make pods and look at the namespace.
    async fn new(name: &'static str) -> Self {
        let environment = Environment::group("access", 2).await.unwrap();
        let (server, headers) = Guarded::new().serve("--listen");
        let stall = Self { name, environment, server, headers };
        let identity = format!("dcm-{name}");
        let kubeconfig = Confined::Standard.kubeconfig(stall.cluster(), &identity, Route::Direct);
        let cluster = json!({"metadata": {"name": "berlin"}, "spec": {"kubeconfig": kubeconfig}});
        let project = json!({"metadata": {"name": "shop-1"}});
        let provider = json!({"metadata": {"name": "edge"}});
        stall.made("platform", "POST /v2/projects", &project.to_string());
        stall.made("platform", "POST /v2/cluster-providers", &provider.to_string());
        stall.made("platform", "POST /v2/cluster-providers/edge/clusters", &cluster.to_string());
        stall.made("admin", &format!("PUT {}/document", stall.path()), &stall.document(None));
        stall.apply().await;
        stall
    }

    fn cluster(&self) -> &Cluster {
        &self.environment.clusters()[0]
    }

    fn path(&self) -> String {
        format!("{CLOUDS}/{}", self.name)
    }

    /// Its document, with one more permission.
    fn document(&self, more: Option<Value>) -> String {
        let permissions = [permission("run", "pods", "create"), permission("look", "namespaces", "get")];
        let permissions: Vec<Value> = permissions.into_iter().chain(more).collect();
        let spec = json!({
            "users": [{"name": "seller"}],
            "permissions": permissions,
            "clusters": [{"provider": "edge", "cluster": "berlin"}],
        });
        let metadata = json!({"name": self.name});
        json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": metadata, "spec": spec})
            .to_string()
    }

    /// What a caller is answered: the status and the body.
    fn ask(&self, caller: &str, line: &str, body: &str) -> (String, String) {
        let answer = self.server.ask(&format!("{line}\n{}\n\n{body}", self.headers.of(caller)));
        let (head, body) = answer.split_once("\n\n").unwrap();
        (head[..3].to_owned(), body.to_owned())
    }

    #[track_caller]
    fn made(&self, caller: &str, line: &str, body: &str) {
        let (status, answer) = self.ask(caller, line, body);
        assert_eq!(status, "201", "{line}: {answer}");
    }

    async fn apply(&self) {
        let (status, answer) = self.ask("admin", &format!("POST {}/apply", self.path()), "");
        assert_eq!(status, "200", "{answer}");
        self.until_it_is("instantiated").await;
    }

    async fn until_it_is(&self, state: &str) {
        until(state, async || {
            let (_, status) = self.ask("admin", &format!("GET {}/status", self.path()), "");
            let status: Value = serde_json::from_str(&status).unwrap();
            (status["state"] == state).then_some(())
        })
        .await;
    }

    /// Its user, by the kubeconfig that is handed out.
    async fn user(&self) -> Client {
        let (status, kubeconfig) =
            self.ask("admin", &format!("GET {}/kubeconfig?user=seller", self.path()), "");
        assert_eq!(status, "201");
        assert!(kubeconfig.contains(r#""client-certificate-data":""#));
        let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        // Neither the environment nor a second try may change what is answered.
        (config.proxy_url, config.default_retry) = (None, false);
        Client::try_from(config).unwrap()
    }

    /// The path of its namespace at the API server.
    fn namespace(&self) -> String {
        format!("/api/v1/namespaces/{}", self.name)
    }

    /// What the label of the namespace says, as the administrator of the cluster sees it.
    fn label(&self) -> Value {
        let found = kubectl(self.cluster(), &["get", "namespace", self.name, "-o", "json"]);
        let found: Value = serde_json::from_str(&found).unwrap();
        found["metadata"]["labels"][LABEL].clone()
    }

    /// The API server takes no change of the namespace from the user, by any way that changes labels.
    async fn holds_its_label(&self, user: &Client) {
        let changed = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.name, "labels": {LABEL: "privileged"}},
        });
        for (method, verb) in [(Method::PATCH, "patch"), (Method::PUT, "update")] {
            for below in ["", "/status"] {
                let path = format!("{}{below}", self.namespace());
                let (code, answer) = send(user, method.clone(), &path, Some(&changed)).await;
                assert_eq!(code, StatusCode::FORBIDDEN, "{verb} {path}: {answer}");
                let name = self.name;
                let refusal = format!(
                    r#"cannot {verb} resource "namespaces{below}" in API group "" in the namespace "{name}""#
                );
                assert!(answer["message"].as_str().unwrap().contains(&refusal), "{answer}");
            }
        }
        assert_eq!(self.label(), "baseline");
    }

    /// The project admin may not do this, and is told why.
    #[track_caller]
    fn forbids(&self, method: &str, path: &str, body: &str, (field, what): (&str, &str)) {
        let (status, answer) = self.ask("admin", &format!("{method} {path}"), body);
        assert_eq!(status, "403", "{answer}");
        let problem: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&problem["type"], &problem["field"]), (&json!("/problems/forbidden"), &json!(field)));
        let expected = format!("{field}: {what} can't be granted by this caller");
        assert!(problem["detail"].as_str().unwrap().starts_with(&expected), "{problem}");
    }

    async fn end(self) {
        let (status, answer) = self.ask("admin", &format!("POST {}/terminate", self.path()), "");
        assert_eq!(status, "202", "{answer}");
        self.until_it_is("terminated").await;
        self.server.stop();
    }
}

fn permission(name: &str, resource: &str, verb: &str) -> Value {
    json!({"name": name, "apiGroups": [""], "resources": [resource], "verbs": [verb]})
}

/// What an API server answers a user.
async fn send(user: &Client, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
    let is_patch = method == Method::PATCH;
    let media = if is_patch { "application/merge-patch+json" } else { "application/json" };
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string().into_bytes()));
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, media);
    let response = user.send(request.body(body).unwrap()).await.unwrap();
    let code = response.status();
    let answer = response.into_body().collect_bytes().await.unwrap();
    (code, serde_json::from_slice(&answer).unwrap())
}

/// One that asks nothing of its host.
fn pod() -> Value {
    let container = json!({"name": "stand", "image": "example.com/stand:1"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stand"}, "spec": {"containers": [container]}})
}

/// Pods that get hold of their host, each with why it is refused.
fn reaching() -> [(Value, &'static str); 3] {
    let (mut privileged, mut network, mut path) = (pod(), pod(), pod());
    privileged["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    network["spec"]["hostNetwork"] = true.into();
    path["spec"]["volumes"] = json!([{"name": "host", "hostPath": {"path": "/"}}]);
    [
        (privileged, r#"privileged (container "stand" must not set securityContext.privileged=true)"#),
        (network, "host namespaces (hostNetwork=true)"),
        (path, r#"hostPath volumes (volume "host")"#),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_a_project_admins_cloud_makes_pods_and_none_that_gets_hold_of_its_host() {
    let stall = Stall::new("contained").await;
    let (status, document) = stall.ask("admin", &format!("GET {}/document", stall.path()), "");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!((&*status, &document["spec"]["labels"]), ("200", &json!({LABEL: "baseline"})));
    assert_eq!(stall.label(), "baseline");

    let user = stall.user().await;
    let pods = format!("{}/pods?dryRun=All", stall.namespace());
    // The API server's authorizer learns of it a moment later.
    until("the right to make pods", async || {
        let (code, _) = send(&user, Method::POST, &pods, Some(&pod())).await;
        (code == StatusCode::CREATED).then_some(())
    })
    .await;
    for (pod, why) in reaching() {
        let (code, answer) = send(&user, Method::POST, &pods, Some(&pod)).await;
        let refusal = format!(r#"pods "stand" is forbidden: violates PodSecurity "baseline:latest": {why}"#);
        assert_eq!((code, &answer["message"]), (StatusCode::FORBIDDEN, &json!(refusal)));

        // It is the label that refuses it: in a namespace without it there is nothing wrong with it.
        let arguments = ["create", "--dry-run=server", "--namespace", "default", "-f", "-"];
        let made = fed(stall.cluster().kubectl().args(arguments), &pod.to_string()).done();
        assert_eq!(made, "pod/stand created (server dry run)\n");
    }
    stall.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_label_that_keeps_pods_off_their_host_is_changed_by_no_user_and_by_no_right_of_a_project_admin() {
    let stall = Stall::new("labelled").await;
    let user = stall.user().await;
    // The API server's authorizer learns of it a moment later.
    let seen = until("the right to look at the namespace", async || {
        let (code, found) = send(&user, Method::GET, &stall.namespace(), None).await;
        (code == StatusCode::OK).then_some(found)
    })
    .await;
    assert_eq!(seen["metadata"]["labels"][LABEL], "baseline");
    stall.holds_its_label(&user).await;

    let (cloud, permissions) = (stall.path(), format!("{}/user-permissions", stall.path()));
    let before = stall.ask("admin", &format!("GET {cloud}/document"), "");
    for verb in ["patch", "update"] {
        let what = format!("{verb} on namespaces of the core group");
        let spec = json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": [verb]});
        let made = json!({"metadata": {"name": "relabel"}, "spec": spec});
        stall.forbids("POST", &permissions, &made.to_string(), ("spec.verbs", &what));
        let document = stall.document(Some(permission("relabel", "namespaces", verb)));
        stall.forbids("PUT", &format!("{cloud}/document"), &document, ("spec.permissions[2].verbs", &what));
    }
    let labelled = json!({"spec": {"labels": {LABEL: "privileged"}}});
    let field = format!("spec.labels[{LABEL:?}]");
    let what = format!("the label {LABEL} of a namespace");
    stall.forbids("PUT", &cloud, &labelled.to_string(), (&field, &what));

    // Nothing of it was kept that an apply would bring to the cluster.
    assert_eq!(stall.ask("admin", &format!("GET {cloud}/document"), ""), before);
    let look = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]});
    let look = json!({"metadata": {"name": "look-more"}, "spec": look});
    stall.made("admin", &format!("POST {permissions}"), &look.to_string());
    stall.apply().await;
    until("the right that was given last", async || {
        let configmaps = format!("{}/configmaps", stall.namespace());
        let (code, _) = send(&user, Method::GET, &configmaps, None).await;
        (code == StatusCode::OK).then_some(())
    })
    .await;
    stall.holds_its_label(&user).await;
    stall.end().await;
}
