//! Whatever changes something over HTTP is in the audit log, with who asked for it: one change by each route of each dialect, on real
//! API servers.

use std::collections::BTreeSet;

use dcm_rest::access::Need;
use dcm_rest::emco::{self, Service};
use dcm_rest::{Route, documented};
use dcm_testenv::{Cluster, Environment, Route as Way};
use serde_json::{Value, json};

use crate::access::callers::{Guarded, Headers};
use crate::common::UNREACHABLE;
use crate::common::confined::Confined;
use crate::common::installation::{kubectl, until};
use crate::common::routes::is_of;
use crate::common::server::{Listener, Server};

/// Routes of the documented dialect that are no reads by their method, and change nothing: they only say what would be, or is.
const QUIET: [&str; 2] = [
    "POST /v2/cluster-providers/{provider}/clusters/{cluster}/check",
    "POST /v2/projects/{project}/logical-clouds/{cloud}/plan",
];

const PROJECT: &str = "/v2/projects/shop-1";
const CLUSTERS: &str = "/v2/cluster-providers/edge/clusters";

/// Somebody who makes changes by the routes of a dialect.
struct Changes {
    server: Server,
    /// Where the dialect is asked.
    listener: Listener,
    headers: Headers,
    routes: Vec<Route>,
    /// Which of them were asked.
    asked: BTreeSet<String>,
    number: usize,
}

fn named(route: &Route) -> String {
    format!("{} {}", route.method(), route.path())
}

/// The one with the fewest rights that are enough.
fn least(need: Need) -> &'static str {
    match need {
        Need::Change => "admin",
        Need::Clusters => "registrar",
        Need::Platform => "platform",
        Need::Nothing | Need::AnyRole | Need::View | Need::Metrics => {
            panic!("{need:?} is enough to change something")
        }
    }
}

impl Changes {
    /// On an empty store; asked at the listener of this number.
    fn of(routes: Vec<Route>, listener: usize) -> Self {
        let options = ["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"];
        let (server, headers) = Guarded::new().serve_with(&options);
        let listener = server.listeners()[listener];
        Self { server, listener, headers, routes, asked: BTreeSet::new(), number: 0 }
    }

    /// What a platform admin is answered in the documented dialect.
    fn read(&self, path: &str) -> String {
        self.server.ask(&format!("GET {path}\n{}", self.headers.of("platform")))
    }

    /// Who asked for what by this request, where it was not refused.
    fn decided(&self, request_id: &str) -> Vec<[String; 2]> {
        let answer = self.read("/v2/audit?limit=500");
        let page: Value = serde_json::from_str(answer.split_once("\n\n").unwrap().1).unwrap();
        let entries = page["items"].as_array().unwrap().iter();
        let is_done = |entry: &&Value| {
            entry["asked"]["requestId"] == request_id
                && ["accepted", "unchanged"].contains(&entry["ended"]["result"].as_str().unwrap_or_default())
        };
        let text = |entry: &Value, field: &str| entry["asked"][field].as_str().unwrap().to_owned();
        entries.filter(is_done).map(|entry| ["who", "action"].map(|field| text(entry, field))).collect()
    }

    /// Makes a change, and finds the entry of whoever has just the rights to make it.
    #[track_caller]
    fn make(&mut self, request: &str, action: &str) {
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
        let (method, path) = line.split_once(' ').unwrap();
        let is_asked = |route: &&Route| route.method() == method && is_of(route.path(), path);
        let route = self.routes.iter().find(is_asked).unwrap();
        self.asked.insert(named(route));
        let who = least(route.need());
        self.number += 1;
        let id = format!("change-{}", self.number);
        let headers = format!("{}\nX-Request-Id: {id}\n{headers}", self.headers.of(who));
        let answer = self.listener.ask(&format!("{line}\n{}\n\n{body}", headers.trim_end()));
        assert!(answer.starts_with('2'), "{line}: {answer}");
        assert_eq!(self.decided(&id), [[who, action]], "{line}: {answer}");
    }

    /// The same with a body.
    #[track_caller]
    fn send(&mut self, line: &str, body: &Value, action: &str) {
        self.make(&format!("{line}\n\n{body}"), action);
    }

    /// Makes a part, changes it where it can be, and takes it away.
    #[track_caller]
    fn part(&mut self, all: &str, name: &str, spec: &Value, put: bool) {
        let part = json!({"metadata": {"name": name}, "spec": spec});
        self.send(&format!("POST {all}"), &part, "put");
        if put {
            let noted = json!({"metadata": {"name": name, "description": "changed"}, "spec": spec});
            self.send(&format!("PUT {all}/{name}"), &noted, "put");
        }
        self.make(&format!("DELETE {all}/{name}"), "put");
    }

    /// Makes two documents, changes the first, and takes the second away.
    #[track_caller]
    fn two(&mut self, all: &str, names: [&str; 2], spec: Option<&Value>, actions: [&str; 2]) {
        let body = |name: &str, description: &str| {
            let mut body = json!({"metadata": {"name": name, "description": description}});
            if let Some(spec) = spec {
                body["spec"] = spec.clone();
            }
            body
        };
        for name in names {
            self.send(&format!("POST {all}"), &body(name, ""), actions[0]);
        }
        let [kept, other] = names;
        self.send(&format!("PUT {all}/{kept}"), &body(kept, "changed"), actions[0]);
        self.make(&format!("DELETE {all}/{other}"), actions[1]);
    }

    async fn until(&self, path: &str, text: &str) {
        until(text, async || self.read(path).contains(text).then_some(())).await;
    }

    /// Every route that is no read was asked, but for those that change nothing.
    fn end(self, quiet: &[&str]) {
        let changing = self.routes.iter().filter(|route| route.method() != "GET");
        let left: Vec<String> = changing.map(named).filter(|route| !self.asked.contains(route)).collect();
        assert_eq!(left, quiet, "say by which request it changes something, or that it changes nothing");
        self.server.stop();
    }
}

fn kubeconfig(cluster: &Cluster) -> Value {
    Confined::Standard.kubeconfig(cluster, "dcm-decided", Way::Direct).into()
}

/// A rule, and where it holds.
fn rule(namespace: Option<&str>) -> Value {
    let mut rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    if let Some(namespace) = namespace {
        rule["namespace"] = namespace.into();
    }
    rule
}

/// Projects, providers, and records of controllers.
fn owners(changes: &mut Changes, controllers: [&str; 2]) {
    changes.two("/v2/projects", ["shop-1", "bank-1"], None, ["put-project", "delete-project"]);
    changes.two("/v2/cluster-providers", ["edge", "other"], None, ["put-provider", "delete-provider"]);
    let spec = json!({"host": "127.0.0.1", "port": 9031});
    for all in controllers {
        changes.two(all, ["one", "other"], Some(&spec), ["put-controller", "delete-controller"]);
    }
}

/// The parts of a logical cloud, of which some stay.
fn parts(changes: &mut Changes, cloud: &str) {
    changes.part(&format!("{cloud}/users"), "helper", &json!({}), true);
    changes.part(&format!("{cloud}/user-permissions"), "look", &rule(None), true);
    for quotas in ["quotas", "cluster-quotas"] {
        changes.part(&format!("{cloud}/{quotas}"), "compute", &json!({"pods": "5"}), true);
    }
    changes.part(&format!("{cloud}/kv-pairs"), "notes", &json!({"kv": [{"a": "b"}]}), true);
    let reference = json!({"cluster-provider": "edge", "cluster-name": "berlin"});
    changes.part(&format!("{cloud}/cluster-references"), "first", &reference, true);
    let first = json!({"metadata": {"name": "first"}, "spec": reference});
    changes.send(&format!("POST {cloud}/cluster-references"), &first, "put");
}

/// A logical cloud from its first apply to its end.
async fn life(changes: &mut Changes, cloud: &str, cluster: &str) {
    let (status, done) = (format!("{cloud}/status"), r#""state":"instantiated""#);
    changes.make(&format!("POST {cloud}/apply"), "apply");
    changes.until(&status, done).await;
    changes.make(&format!("GET {cloud}/kubeconfig?user=seller"), "hand-out");
    let credential = format!("{cloud}/users/seller/credential?cluster-reference=first");
    changes.make(&format!("GET {credential}"), "hand-out");
    changes.make(&format!("POST {cluster}/stop"), "stop-cluster");
    let quota = json!({"metadata": {"name": "small"}, "spec": {"pods": "5"}});
    changes.send(&format!("POST {cloud}/quotas"), &quota, "put");
    changes.make(&format!("POST {cloud}/apply"), "apply");
    changes.make(&format!("POST {cloud}/stop?wait-seconds=1"), "stop");
    changes.make(&format!("POST {cloud}/resume"), "resume");
    changes.make(&format!("POST {cluster}/resume"), "resume-cluster");
    changes.until(&status, done).await;
    changes.make(&format!("POST {cloud}/renew?user=seller"), "renew");
    changes.make(&format!("POST {cloud}/users/seller/revoke"), "revoke");
    changes.until(&format!("{cloud}/users/seller/revocation"), r#""isRevoked":true"#).await;
    changes.make(&format!("DELETE {cloud}/other-bindings?user=seller"), "remove-bindings");
    changes.make(&format!("POST {cloud}/reconcile"), "reconcile");
    changes.until(&status, done).await;
    changes.make(&format!("POST {cloud}/terminate"), "terminate");
    changes.until(&status, r#""state":"terminated""#).await;
    changes.make(&format!("DELETE {cloud}"), "delete");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_in_the_documented_dialect_is_in_the_audit_log_with_its_caller() {
    let environment = Environment::group("access", 2).await.unwrap();
    let [one, other] = environment.clusters() else { panic!("two clusters are asked for") };
    let mut changes = Changes::of(documented::routes(), 0);
    let (cluster, cloud) = (&format!("{CLUSTERS}/berlin"), &format!("{PROJECT}/logical-clouds/decided"));
    owners(&mut changes, ["/v2/controllers", "/v2/cluster-controllers"]);
    let registered = json!({"metadata": {"name": "berlin"}, "spec": {"kubeconfig": kubeconfig(one)}});
    changes.send(&format!("POST {CLUSTERS}"), &registered, "register-cluster");
    changes.send(
        &format!("PUT {cluster}"),
        &json!({"spec": {"labels": {"city": "berlin"}}}),
        "update-cluster",
    );

    let made = json!({"metadata": {"name": "decided"}, "spec": {}});
    changes.send(&format!("POST {PROJECT}/logical-clouds"), &made, "put");
    changes.send(&format!("PUT {cloud}"), &json!({"metadata": {"description": "changed"}}), "put");
    let mut permission = rule(None);
    permission["name"] = "sell".into();
    let spec = json!({"users": [{"name": "seller"}], "permissions": [permission]});
    let document = json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "decided"}, "spec": spec});
    changes.send(&format!("PUT {cloud}/document"), &document, "put");
    parts(&mut changes, cloud);
    life(&mut changes, cloud, cluster).await;

    let moved = json!({"spec": {"kubeconfig": kubeconfig(other)}});
    changes.send(&format!("PUT {cluster}?unchecked=true"), &moved, "update-cluster");
    let uid = kubectl(other, &["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]);
    changes.make(&format!("POST {cluster}/accept?uid={uid}"), "accept-cluster");
    changes.make(&format!("DELETE {cluster}/orphans/no-such-context"), "clear-orphans");
    changes.make(&format!("DELETE {cluster}"), "remove-cluster");
    changes.end(&QUIET);
}

/// A form that registers a cluster, as EMCO's client sends it.
fn form(name: &str, kubeconfig: &str) -> String {
    let part = |name: &str, content: &str| {
        format!("----part\nContent-Disposition: form-data; name={name}\n\n{}\n", content.trim_end())
    };
    let metadata = part("\"metadata\"", &json!({"metadata": {"name": name}}).to_string());
    let file = part("\"file\"; filename=\"filename\"", kubeconfig);
    format!(
        "POST {CLUSTERS}\nContent-Type: multipart/form-data; boundary=--part\n\n{metadata}{file}----part--"
    )
}

/// Makes a logical cloud that can be instantiated.
fn prepare(changes: &mut Changes, name: &str, cluster: &str) {
    let cloud = format!("{PROJECT}/logical-clouds/{name}");
    let made =
        json!({"metadata": {"name": name}, "spec": {"namespace": name, "user": {"userName": "seller"}}});
    changes.send(&format!("POST {PROJECT}/logical-clouds"), &made, "put");
    let sell = json!({"metadata": {"name": "sell"}, "spec": rule(Some(name))});
    changes.send(&format!("POST {cloud}/user-permissions"), &sell, "put");
    let spec = json!({"clusterProvider": "edge", "cluster": cluster, "loadBalancerIP": "0.0.0.0"});
    let first = json!({"metadata": {"name": "first"}, "spec": spec});
    changes.send(&format!("POST {cloud}/cluster-references"), &first, "put");
}

/// What EMCO knows of a cluster.
fn of_cluster(changes: &mut Changes, cluster: &str) {
    changes.send(&format!("POST {cluster}/labels"), &json!({"clusterLabel": "east"}), "update-cluster");
    changes.send(&format!("PUT {cluster}/labels/large"), &json!({"clusterLabel": "large"}), "update-cluster");
    changes.make(&format!("DELETE {cluster}/labels/east"), "update-cluster");
    let pairs = |value: &str| json!({"metadata": {"name": "k"}, "spec": {"kv": [{"a": value}]}});
    changes.send(&format!("POST {cluster}/kv-pairs"), &pairs("b"), "update-cluster");
    changes.send(&format!("PUT {cluster}/kv-pairs/k"), &pairs("c"), "update-cluster");
    changes.make(&format!("DELETE {cluster}/kv-pairs/k"), "update-cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_in_emcos_dialect_is_in_the_audit_log_with_its_caller() {
    let environment = Environment::group("access", 2).await.unwrap();
    let mut changes = Changes::of(Service::ALL.into_iter().flat_map(emco::routes).collect(), 1);
    let cloud = &format!("{PROJECT}/logical-clouds/decided-emco");
    owners(&mut changes, ["/v2/controllers", "/v2/clm-controllers"]);
    let one = Confined::Standard.kubeconfig(&environment.clusters()[0], "dcm-decided-emco", Way::Direct);
    for (name, kubeconfig) in [("berlin", &*one), ("oslo", UNREACHABLE)] {
        changes.make(&form(name, kubeconfig), "register-cluster");
    }
    of_cluster(&mut changes, &format!("{CLUSTERS}/berlin"));
    prepare(&mut changes, "decided-emco", "berlin");
    let spec = json!({"namespace": "decided-emco", "user": {"userName": "seller"}});
    let noted = json!({"metadata": {"name": "decided-emco", "description": "changed"}, "spec": spec});
    changes.send(&format!("PUT {cloud}"), &noted, "put");
    changes.part(&format!("{cloud}/user-permissions"), "look", &rule(Some("decided-emco")), false);
    changes.part(&format!("{cloud}/cluster-quotas"), "small", &json!({"pods": "5"}), false);
    changes.part(&format!("{cloud}/kv-pairs"), "notes", &json!({"kv": [{"a": "b"}]}), false);

    // What is under way to a cluster that does not answer can be stopped.
    prepare(&mut changes, "decided-never", "oslo");
    for (operation, action) in [("instantiate", "apply"), ("stop", "stop")] {
        changes.make(&format!("POST {PROJECT}/logical-clouds/decided-never/{operation}"), action);
    }
    let status = format!("{cloud}/status");
    changes.make(&format!("POST {cloud}/instantiate"), "apply");
    changes.until(&status, r#""state":"instantiated""#).await;
    changes.make(&format!("GET {cloud}/cluster-references/first/kubeconfig"), "hand-out");
    let quota = json!({"metadata": {"name": "small"}, "spec": {"pods": "5"}});
    changes.send(&format!("POST {cloud}/cluster-quotas"), &quota, "put");
    changes.make(&format!("POST {cloud}/update"), "apply");
    changes.until(&status, r#""state":"instantiated""#).await;
    changes.make(&format!("POST {cloud}/terminate"), "terminate");
    changes.until(&status, r#""state":"terminated""#).await;
    for part in ["cluster-references/first", "user-permissions/sell", "cluster-quotas/small"] {
        changes.make(&format!("DELETE {cloud}/{part}"), "put");
    }
    changes.make(&format!("DELETE {cloud}"), "delete");
    changes.make(&format!("DELETE {CLUSTERS}/berlin/labels/large"), "update-cluster");
    changes.make(&format!("DELETE {CLUSTERS}/berlin"), "remove-cluster");
    changes.end(&[]);
}
