//! Cluster registrars and members of a project that read causes: what clusters and connections report is for platform admins alone.

use std::io::Write as _;
use std::net::TcpListener;

use dcm_testenv::{Cluster, Route};
use serde_json::{Value, json};

use super::foreign::Foreign;
use super::{CLUSTERS, status};
use crate::access::callers::{Guarded, Headers};
use crate::attacks::environment;
use crate::common::fed;
use crate::common::installation::{kubectl, make, until};
use crate::common::server::{Listener, Server};

/// What foreign servers have in their certificates, names and answers.
const SECRET: &str = "hunter2";

/// Words of the system, of TLS and of name servers that no member of a project reads.
const DETAILS: [&str; 12] = [
    SECRET,
    "certificate is",
    "certificate not",
    "invalid peer",
    "UnknownIssuer",
    "os error",
    "refused: ",
    "tcp connect",
    "dns",
    "lookup",
    "InvalidContentType",
    "no status of Kubernetes",
];

const PROJECT: &str = "/v2/projects/shop-1";

/// All who are in the project. The registrar is an admin of it, too.
const MEMBERS: [&str; 3] = ["registrar", "admin", "viewer"];

/// A server of both dialects, with callers of each role.
struct Scene {
    server: Server,
    headers: Headers,
}

impl Scene {
    fn new() -> Self {
        let guarded = Guarded::new();
        let in_project =
            |role: &str, users: &[&str]| json!({"role": role, "users": users, "projects": ["shop-1"]});
        let roles = json!([
            {"role": "platform-admin", "users": ["platform"]},
            {"role": "cluster-registrar", "users": ["registrar"]},
            in_project("project-admin", &["registrar", "admin"]),
            in_project("project-viewer", &["viewer"]),
        ]);
        guarded.configure(&json!({"requests": {"perSecond": 0}, "roles": roles}));
        let (server, headers) =
            guarded.serve_with(&["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"]);
        let scene = Self { server, headers };
        scene.done("platform", "POST /v2/projects", &json!({"metadata": {"name": "shop-1"}}));
        scene.done("registrar", "POST /v2/cluster-providers", &json!({"metadata": {"name": "edge"}}));
        scene
    }

    fn ask_at(&self, listener: Listener, who: &str, line: &str, body: &str) -> String {
        listener.ask(&format!("{line}\n{}\n\n{body}", self.headers.of(who)))
    }

    fn ask(&self, who: &str, line: &str) -> String {
        self.ask_at(self.server.listeners()[0], who, line, "")
    }

    #[track_caller]
    fn done(&self, who: &str, line: &str, body: &Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.ask_at(self.server.listeners()[0], who, line, &body);
        assert!(answer.starts_with('2'), "{line}: {answer}");
    }

    /// Registers a cluster as the registrar does.
    #[track_caller]
    fn register(&self, name: &str, kubeconfig: &str) {
        let registration = json!({"metadata": {"name": name}, "spec": {"kubeconfig": kubeconfig}});
        self.done("registrar", &format!("POST {CLUSTERS}?unchecked=true"), &registration);
    }

    /// Applies a cloud on a cluster.
    #[track_caller]
    fn apply_on(&self, cluster: &str, name: &str, spec: &Value) {
        let mut spec = spec.clone();
        spec["clusters"] = json!([{"provider": "edge", "cluster": cluster}]);
        let document = json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": name}, "spec": spec});
        self.done("admin", &format!("PUT {PROJECT}/logical-clouds/{name}/document"), &document);
        self.done("admin", &format!("POST {PROJECT}/logical-clouds/{name}/apply"), &Value::Null);
    }

    /// Registers a cluster, and applies a cloud of the same name on it.
    #[track_caller]
    fn apply(&self, name: &str, kubeconfig: &str) {
        self.register(name, kubeconfig);
        self.apply_on(name, name, &user());
    }

    /// All that a caller reads about a cloud in either dialect, raw.
    fn read(&self, who: &str, name: &str) -> Vec<String> {
        let cloud = format!("{PROJECT}/logical-clouds/{name}");
        let documented = [
            format!("{cloud}/status"),
            format!("{cloud}/plan"),
            format!("{cloud}/other-bindings"),
            format!("{cloud}/users/ann/revocation"),
            format!("{cloud}/kubeconfig?user=ann"),
            format!("{cloud}/users/ann/credential?cluster-reference=c"),
            format!("{PROJECT}/audit"),
        ];
        let mut answers: Vec<String> =
            documented.iter().map(|path| self.ask(who, &format!("GET {path}"))).collect();
        let mut events = self.server.follow_as(&format!("{cloud}/events"), self.headers.of(who));
        answers.push(events.next().unwrap());
        let emco = self.server.listeners()[1];
        for query in ["output=detail", "status=deployed&output=detail"] {
            answers.push(self.ask_at(emco, who, &format!("GET {cloud}/status?{query}"), ""));
        }
        let (events, plain) = (&answers[documented.len()], &answers[..2]);
        assert!(plain.iter().all(|answer| answer.starts_with("200\n")), "{plain:?}");
        assert!(events.contains("clusters"), "{events}");
        answers
    }

    fn status(&self, who: &str, name: &str) -> Value {
        let answer = self.ask(who, &format!("GET {PROJECT}/logical-clouds/{name}/status"));
        serde_json::from_str(answer.split_once("\n\n").unwrap().1).unwrap()
    }

    /// The lane of a cloud on the cluster of its name, as soon as it is as expected.
    async fn lane(&self, who: &str, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        self.lane_on(name, who, name, is_it).await
    }

    async fn lane_on(&self, cluster: &str, who: &str, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        until("a cause", async || {
            let lane = self.status(who, name)["clusters"][format!("edge/{cluster}")]["lane"].take();
            is_it(&lane).then_some(lane)
        })
        .await
    }

    /// Why a plan knows nothing of the cluster.
    fn unplanned(&self, who: &str, name: &str) -> String {
        let answer = self.ask(who, &format!("GET {PROJECT}/logical-clouds/{name}/plan"));
        let plan: Value = serde_json::from_str(answer.split_once("\n\n").unwrap().1).unwrap();
        plan["clusters"][format!("edge/{name}")]["unknown"].as_str().unwrap_or(&answer).to_owned()
    }
}

/// A service that says something at once, as SSH servers do, and speaks no TLS.
fn banner() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // A client that leaves is no failure.
            let _ = stream.write_all(format!("SSH-2.0-{SECRET}\r\n").as_bytes());
        }
    });
    format!("https://{address}")
}

/// A port without a listener.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("https://{}", listener.local_addr().unwrap())
}

fn user() -> Value {
    json!({"users": [{"name": "ann", "type": "token"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_at_an_address_a_member_of_a_project_reads_one_sentence() {
    let scene = Scene::new();
    let other_names = Foreign::named(&["hunter2.internal.example"]);
    let untrusted = Foreign::new();
    let known = Foreign::new();
    let pages: Vec<_> =
        [200, 302, 401, 403, 404, 503].into_iter().map(|code| (code, Foreign::new())).collect();
    let no_identity = Foreign::new();
    no_identity.say(200, &json!({"metadata": {"uid": format!("{SECRET} is no UID")}}).to_string());
    let mut addresses = vec![
        ("other-names".to_owned(), other_names.kubeconfig("127.0.0.1"), true),
        ("untrusted".to_owned(), known.kubeconfig_to(&untrusted.url()), false),
        ("banner".to_owned(), known.kubeconfig_to(&banner()), false),
        ("closed".to_owned(), known.kubeconfig_to(&closed()), false),
        ("no-name".to_owned(), known.kubeconfig_to(&format!("https://{SECRET}.invalid")), false),
        ("no-identity".to_owned(), no_identity.kubeconfig("127.0.0.1"), false),
    ];
    for (code, foreign) in &pages {
        foreign.say(*code, &format!("<html>{SECRET}</html>"));
        addresses.push((format!("page-{code}"), foreign.kubeconfig("127.0.0.1"), false));
    }
    for (name, kubeconfig, _) in &addresses {
        scene.apply(name, kubeconfig);
    }
    let expected = json!({"reason": "unreachable", "message": "the cluster can't be reached"});
    for (name, _, names_secret) in &addresses {
        let lane = scene.lane("viewer", name, |lane| lane["cause"]["reason"].is_string()).await;
        for who in MEMBERS {
            for answer in scene.read(who, name) {
                let found: Vec<_> = DETAILS.iter().filter(|words| answer.contains(**words)).collect();
                assert!(found.is_empty(), "{who} reads {found:?} of {name}: {answer}");
            }
            assert_eq!(
                scene.unplanned(who, name),
                "the cluster could not be looked at: the cluster can't be reached",
                "{who} {name}"
            );
        }
        let mut cause = lane["cause"].clone();
        cause.as_object_mut().unwrap().remove("nextTry");
        assert_eq!(cause, expected, "{name}");
        // The platform admin reads what happened, in the status, in its events and in the plan.
        let detail =
            scene.status("platform", name)["clusters"][format!("edge/{name}")]["lane"]["cause"].take();
        let detail = detail["detail"].as_str().unwrap_or_else(|| panic!("{name}: {detail}")).to_owned();
        assert!(detail.len() > expected["message"].as_str().unwrap().len(), "{name}: {detail}");
        if *names_secret {
            assert!(detail.contains(SECRET), "{detail}");
            assert!(scene.unplanned("platform", name).contains(SECRET));
            let read = scene.read("platform", name);
            let with_secret = read.iter().filter(|answer| answer.contains(SECRET)).count();
            assert!(with_secret >= 5, "status, plan, bindings, events and EMCO's status have it: {read:#?}");
        }
    }
    scene.server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_answer_of_kubernetes_a_member_of_a_project_reads_the_kind_alone() {
    let scene = Scene::new();
    let cases = [
        (401, "unauthorized", "the cluster does not accept the engine's credential"),
        (403, "denied", "the cluster does not allow this"),
        (500, "unreachable", "the cluster can't be reached"),
    ];
    for (code, reason, message) in cases {
        let (foreign, name) = (Foreign::new(), format!("answers-{code}"));
        foreign.say(code, &status(code));
        scene.apply(&name, &foreign.kubeconfig("127.0.0.1"));
        let lane = scene.lane("admin", &name, |lane| lane["cause"]["reason"].is_string()).await;
        assert_eq!((&lane["cause"]["reason"], &lane["cause"]["message"]), (&json!(reason), &json!(message)));
        for who in MEMBERS {
            for answer in scene.read(who, &name) {
                assert!(!answer.contains(SECRET), "{who} {code}: {answer}");
            }
        }
        let whole = scene.status("platform", &name).to_string();
        assert!(whole.contains(SECRET), "{whole}");
    }
    scene.server.stop();
}

/// A webhook for the ConfigMaps of one namespace. It has no server.
fn webhook(cluster: &Cluster, namespace: &str) {
    make(
        cluster,
        &json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": namespace},
            "webhooks": [{
                "name": "hunter2.operators.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 5,
                "clientConfig": {"url": format!("https://{SECRET}.invalid/hook")},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            }],
        }),
    );
}

/// A cloud of a name with a manifest in its namespace.
fn with_manifest(namespace: &str, manifest: &Value) -> Value {
    let (mut spec, mut manifest) = (user(), manifest.clone());
    manifest["apiVersion"] = "v1".into();
    manifest["metadata"] = json!({"name": "theirs", "namespace": namespace});
    spec["namespace"] = namespace.into();
    spec["manifests"] = json!([manifest]);
    spec["quotas"] = json!([{"name": "quota", "hard": {"persistentvolumeclaims": "0"}}]);
    spec
}

/// What is reported of the object of a kind.
fn cause_of(lane: &Value, kind: &str) -> Value {
    let objects = lane["objects"].as_array().into_iter().flatten();
    let is_it = |object: &&Value| object["kind"] == kind && object["name"] == "theirs";
    objects.filter(is_it).map(|object| object["cause"].clone()).next().unwrap_or_default()
}

fn claim() -> Value {
    json!({"kind": "PersistentVolumeClaim", "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}

/// Whether the API server refuses a claim for the quota of a namespace.
fn is_quota_in_force(cluster: &Cluster, namespace: &str) -> bool {
    let mut claim = claim();
    claim["apiVersion"] = "v1".into();
    claim["metadata"] = json!({"name": "tried", "namespace": namespace});
    let tried = fed(cluster.kubectl().args(["create", "--dry-run=server", "-f", "-"]), &claim.to_string());
    tried.err.contains("exceeded quota: ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_reads_which_rule_its_own_manifest_breaks() {
    let scene = Scene::new();
    let environment = environment().await;
    let cluster = &environment.clusters()[0];
    let privileged =
        json!({"name": "main", "image": "example.com/a", "securityContext": {"privileged": true}});
    let cases = [
        (
            "field",
            "invalid",
            "spec.ports[0].port: Invalid value: 99999",
            json!({"kind": "Service", "spec": {"ports": [{"port": 99_999}]}}),
        ),
        (
            "unknown",
            "invalid",
            "unknown field \"automountDota\"",
            json!({"kind": "ServiceAccount", "automountDota": true}),
        ),
        (
            "level",
            "denied",
            "violates PodSecurity \"baseline:latest\": privileged",
            json!({"kind": "Pod", "spec": {"containers": [privileged]}}),
        ),
        ("quota", "denied", "exceeded quota: ", claim()),
    ];
    for (index, (name, reason, rule, manifest)) in cases.iter().enumerate() {
        let name = format!("causes-{name}");
        // One cluster has one name.
        if index == 0 {
            scene.register("real", &cluster.admin_kubeconfig(Route::Direct));
        }
        let spec = with_manifest(&name, manifest);
        let mut without = spec.clone();
        without["manifests"] = json!([]);
        scene.apply_on("real", &name, &without);
        // An API server admits objects until it has heard of a new quota.
        until("a quota in force", async || is_quota_in_force(cluster, &name).then_some(())).await;
        // An apply over HTTP takes the place of no other one that is under way.
        scene.lane_on("real", "admin", &name, |lane| lane["state"] == "done").await;
        scene.apply_on("real", &name, &spec);
        let kind = manifest["kind"].as_str().unwrap();
        let message = |lane: &Value| cause_of(lane, kind)["message"].as_str().unwrap_or_default().to_owned();
        // What is refused is tried again some times before it counts as refused.
        let is_refused =
            |lane: &Value| message(lane).contains(rule) && cause_of(lane, kind)["reason"] == *reason;
        let lane = scene.lane_on("real", "viewer", &name, is_refused).await;
        let cause = cause_of(&lane, kind);
        assert!(message(&lane).starts_with("the cluster "), "{cause}");
        assert!(cause["detail"].is_null(), "{cause}");
        // The dry runs of a plan are writes of the tenant's objects, too.
        let plan = scene.ask("registrar", &format!("GET {PROJECT}/logical-clouds/{name}/plan"));
        assert!(plan.contains(&rule.replace('"', "\\\"")), "{plan}");
    }
    scene.server.stop();
    for (name, ..) in &cases {
        kubectl(cluster, &["delete", "namespace", &format!("causes-{name}"), "--wait=false"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_reads_nothing_of_a_webhook_of_the_operators() {
    let scene = Scene::new();
    let environment = environment().await;
    let cluster = &environment.clusters()[0];
    let name = "causes-webhook";
    webhook(cluster, name);
    scene.register(name, &cluster.admin_kubeconfig(Route::Direct));
    scene.apply_on(name, name, &with_manifest(name, &json!({"kind": "ConfigMap"})));
    let is_it = |lane: &Value| cause_of(lane, "ConfigMap")["message"].is_string();
    let lane = scene.lane("viewer", name, is_it).await;
    let message = cause_of(&lane, "ConfigMap")["message"].to_string();
    assert!(message.starts_with("\"the cluster failed (create)"), "{message}");
    for who in MEMBERS {
        for answer in scene.read(who, name) {
            for words in [SECRET, "lookup", "failed calling webhook"] {
                assert!(!answer.contains(words), "{who} reads {words}: {answer}");
            }
        }
    }
    let lane = scene.lane("platform", name, is_it).await;
    let whole = cause_of(&lane, "ConfigMap")["detail"].to_string();
    assert!(whole.contains("failed calling webhook") && whole.contains(SECRET), "{whole}");
    scene.server.stop();
    kubectl(cluster, &["delete", "validatingwebhookconfiguration", name]);
    kubectl(cluster, &["delete", "namespace", name, "--wait=false"]);
}
