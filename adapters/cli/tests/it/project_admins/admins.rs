//! Project admins that reach beyond their logical clouds.

use std::process::Command;

use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};

use crate::access::callers::{Guarded, Headers};
use crate::common::confined::Confined;
use crate::common::fed;
use crate::common::installation::{kubectl, until};
use crate::common::server::{Listener, Server};
use crate::project_admins::SERVERS;

const PROJECT: &str = "/v2/projects/shop-1";

/// The registered clusters, in the environment's order.
const CLUSTERS: [&str; 2] = ["one", "two"];

const LABEL: &str = "pod-security.kubernetes.io/enforce";

/// A server of both dialects with two real clusters, and a project with an admin.
struct Shop {
    environment: Environment,
    server: Server,
    headers: Headers,
}

impl Shop {
    async fn new(name: &str) -> Self {
        let environment = Environment::shared(SERVERS).await.unwrap();
        let options = ["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"];
        let (server, headers) = Guarded::new().serve_with(&options);
        let shop = Self { environment, server, headers };
        let named = |name: &str| json!({"metadata": {"name": name}});
        shop.done("platform", "POST /v2/projects", &named("shop-1"));
        shop.done("platform", "POST /v2/cluster-providers", &named("edge"));
        let identity = format!("dcm-{name}");
        for (name, cluster) in CLUSTERS.into_iter().zip(shop.environment.clusters()) {
            let kubeconfig = Confined::Standard.kubeconfig(cluster, &identity, Route::Direct);
            let cluster = json!({"metadata": {"name": name}, "spec": {"kubeconfig": kubeconfig}});
            shop.done("platform", "POST /v2/cluster-providers/edge/clusters", &cluster);
        }
        shop
    }

    fn cluster(&self, index: usize) -> &Cluster {
        &self.environment.clusters()[index]
    }

    fn documented(&self) -> Listener {
        self.server.listeners()[0]
    }

    fn emco(&self) -> Listener {
        self.server.listeners()[1]
    }

    fn ask(&self, caller: &str, listener: Listener, line: &str, body: &Value) -> (String, String) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = listener.ask(&format!("{line}\n{}\n\n{body}", self.headers.of(caller)));
        let (head, body) = answer.split_once("\n\n").unwrap();
        (head[..3].to_owned(), body.to_owned())
    }

    #[track_caller]
    fn done(&self, caller: &str, line: &str, body: &Value) -> String {
        let (status, answer) = self.ask(caller, self.documented(), line, body);
        assert!(status.starts_with('2'), "{line}: {status} {answer}");
        answer
    }

    /// The project admin is refused, with these words.
    #[track_caller]
    fn forbids(&self, listener: Listener, line: &str, body: &Value, words: &[&str]) {
        let (status, answer) = self.ask("admin", listener, line, body);
        assert_eq!(status, "403", "{line}: {answer}");
        for word in words {
            assert!(answer.contains(word), "{line}: {word} is not in {answer}");
        }
    }

    /// Applies a logical cloud as the project admin, and waits for it.
    async fn apply(&self, cloud: &str) {
        self.done("admin", &format!("POST {}/apply", path(cloud)), &Value::Null);
        self.until_it_is(cloud, "instantiated").await;
    }

    async fn until_it_is(&self, cloud: &str, state: &str) {
        until(state, async || {
            let status = self.done("admin", &format!("GET {}/status", path(cloud)), &Value::Null);
            let status: Value = serde_json::from_str(&status).unwrap();
            (status["state"] == state).then_some(())
        })
        .await;
    }

    async fn end(self, cloud: &str) {
        self.done("admin", &format!("POST {}/terminate", path(cloud)), &Value::Null);
        self.until_it_is(cloud, "terminated").await;
        self.server.stop();
    }

    /// What the API server answers the cloud's user about a right in its namespace.
    fn may(&self, kubeconfig: &std::path::Path, namespace: &str, [group, resource, verb]: [&str; 3]) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "namespace": namespace, "group": group, "resource": resource, "subresource": subresource,
                "verb": verb,
            }},
        });
        let mut kubectl = Command::new(self.environment.kubectl());
        kubectl.arg("--kubeconfig").arg(kubeconfig).args([
            "create",
            "--validate=false",
            "-o",
            "json",
            "-f",
            "-",
        ]);
        let answer: Value = serde_json::from_str(&fed(&mut kubectl, &review.to_string()).done()).unwrap();
        answer["status"]["allowed"] == true
    }

    /// The kubeconfig of the cloud's user.
    fn kubeconfig(&self, cloud: &str) -> std::path::PathBuf {
        let line = format!("GET {}/kubeconfig?user=seller", path(cloud));
        let file = self.server.home().join("seller.kubeconfig");
        std::fs::write(&file, self.done("admin", &line, &Value::Null)).unwrap();
        file
    }
}

fn path(cloud: &str) -> String {
    format!("{PROJECT}/logical-clouds/{cloud}")
}

/// A document of a cloud on the first cluster, with a permission that the allow list holds; `change` changes its specification.
fn document(cloud: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut spec = json!({
        "users": [{"name": "seller"}],
        "permissions": [named(right(["", "pods", "get"]), "look")],
        "clusters": [{"name": "first", "provider": "edge", "cluster": CLUSTERS[0]}],
    });
    change(&mut spec);
    json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": cloud}, "spec": spec})
}

fn right([group, resource, verb]: [&str; 3]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})
}

fn named(mut permission: Value, name: &str) -> Value {
    permission["name"] = name.into();
    permission
}

/// Rights by which a tenant gets those of a cluster, with the field that is refused.
const STRONG: [([&str; 3], &str); 5] = [
    (["operators.coreos.com", "clusterserviceversions", "create"], "apiGroups"),
    (["operators.coreos.com", "*", "*"], "apiGroups"),
    (["kustomize.toolkit.fluxcd.io", "kustomizations", "create"], "apiGroups"),
    (["security.openshift.io", "securitycontextconstraints", "use"], "apiGroups"),
    (["", "pods/status", "patch"], "verbs"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_project_admin_grants_no_right_on_operators_security_constraints_or_the_status_of_pods() {
    let cloud = "attack-grants";
    let shop = Shop::new(cloud).await;
    shop.done("admin", &format!("PUT {}/document", path(cloud)), &document(cloud, |_| {}));
    for (strong, field) in STRONG {
        let is_wildcard = strong.contains(&"*");
        let field = if is_wildcard { "resources" } else { field };
        let remedy = if is_wildcard { "wildcard" } else { "projectAdmins.permissions" };
        let words = [field, "can't be granted by this caller", remedy];
        let permission = json!({"metadata": {"name": "strong"}, "spec": right(strong)});
        let permissions = format!("POST {}/user-permissions", path(cloud));
        shop.forbids(shop.documented(), &permissions, &permission, &words);
        let whole = document(cloud, |spec| {
            spec["permissions"].as_array_mut().unwrap().push(named(right(strong), "strong"));
        });
        for line in ["PUT {}/document", "PUT {}/document?apply=true", "POST {}/plan"] {
            shop.forbids(shop.documented(), &line.replace("{}", &path(cloud)), &whole, &words);
        }
        let mut in_emco = permission;
        in_emco["spec"]["namespace"] = cloud.into();
        shop.forbids(shop.emco(), &permissions, &in_emco, &words[1..]);
    }
    let operator = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"name": "strong"},
    });
    let whole = document(cloud, |spec| spec["manifests"] = json!([operator]));
    let words = ["manifests[0].kind", "projectAdmins.manifests"];
    shop.forbids(shop.documented(), &format!("PUT {}/document", path(cloud)), &whole, &words);

    shop.apply(cloud).await;
    let kubeconfig = shop.kubeconfig(cloud);
    until("the right that the list holds", async || {
        shop.may(&kubeconfig, cloud, ["", "pods", "get"]).then_some(())
    })
    .await;
    for (strong, _) in STRONG {
        assert!(!shop.may(&kubeconfig, cloud, strong), "{strong:?}");
    }
    shop.end(cloud).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_admin_takes_no_namespace_for_which_a_cluster_role_binding_waits() {
    let (shop, namespace) = (Shop::new("attack-namespace").await, "cert-manager");
    let words = ["a namespace of a system (cert-manager)", "projectAdmins.reservedNamespaces"];
    let whole = document("attack-namespace", |spec| spec["namespace"] = namespace.into());
    for line in ["PUT {}/document", "PUT {}/document?apply=true", "POST {}/plan"] {
        let line = line.replace("{}", &path("attack-namespace"));
        shop.forbids(shop.documented(), &line, &whole, &words);
    }
    let made = format!("POST {PROJECT}/logical-clouds");
    let by_name = json!({"metadata": {"name": namespace}, "spec": {}});
    shop.forbids(shop.documented(), &made, &by_name, &words);
    let spec = json!({"namespace": namespace, "user": {"userName": "seller"}});
    let in_emco = json!({"metadata": {"name": "attack-namespace"}, "spec": spec});
    shop.forbids(shop.emco(), &made, &in_emco, &words[..1]);
    for key in ["openshift.io/run-level", "admission.gatekeeper.sh/ignore", "istio-injection"] {
        let whole = document("attack-label", |spec| spec["labels"] = json!({key: "1"}));
        let line = format!("PUT {}/document", path("attack-label"));
        shop.forbids(shop.documented(), &line, &whole, &[key, "projectAdmins.allowedLabels"]);
    }
    for cluster in shop.environment.clusters() {
        assert_eq!(kubectl(cluster, &["get", "namespace", namespace, "--ignore-not-found"]), "");
    }
    shop.server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_admin_stretches_a_privileged_label_to_no_other_cluster() {
    let cloud = "attack-stretch";
    let shop = Shop::new(cloud).await;
    let put = format!("PUT {}/document", path(cloud));
    let privileged = |spec: &mut Value| spec["labels"] = json!({LABEL: "privileged"});
    shop.done("platform", &put, &document(cloud, privileged));

    let words = ["can't be granted another cluster or namespace", LABEL];
    let second = json!({"name": "second", "provider": "edge", "cluster": CLUSTERS[1]});
    let added = document(cloud, |spec| {
        privileged(spec);
        spec["clusters"].as_array_mut().unwrap().push(second.clone());
    });
    let selecting = document(cloud, |spec| {
        privileged(spec);
        spec["clusterSelector"] = json!({});
    });
    let moved = document(cloud, |spec| {
        privileged(spec);
        spec["namespace"] = "attack-stretched".into();
    });
    for whole in [&added, &selecting, &moved] {
        shop.forbids(shop.documented(), &put, whole, &words);
        shop.forbids(shop.documented(), &format!("{put}?apply=true"), whole, &words);
    }
    let references = format!("POST {}/cluster-references", path(cloud));
    let spec = json!({"cluster-provider": "edge", "cluster-name": CLUSTERS[1]});
    let reference = json!({"metadata": {"name": "second"}, "spec": spec});
    shop.forbids(shop.documented(), &references, &reference, &words);
    let spec = json!({"clusterProvider": "edge", "cluster": CLUSTERS[1], "loadBalancerIP": "0.0.0.0"});
    let in_emco = json!({"metadata": {"name": "second"}, "spec": spec});
    shop.forbids(shop.emco(), &references, &in_emco, &words);

    shop.apply(cloud).await;
    let path = format!("jsonpath={{.metadata.labels.{}}}", LABEL.replace('.', "\\."));
    assert_eq!(kubectl(shop.cluster(0), &["get", "namespace", cloud, "-o", &path]), "privileged");
    assert_eq!(kubectl(shop.cluster(1), &["get", "namespace", cloud, "--ignore-not-found"]), "");
    shop.end(cloud).await;
}
