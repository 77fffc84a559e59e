//! The address of a cluster leads to another one, with the same authorities, while a worker is connected to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::audit::{Position, Stage};
use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};

use crate::common::User;
use crate::common::confined::Confined;
use crate::common::installation::{Worker, kubectl, timeout, until, until_served};

const CLOUD: &str = "elsewhere";

/// The user that the engine is on both clusters.
const ENGINE: &str = "dcm-elsewhere";

const NAME: &str = "real/cluster-1";

/// A kubeconfig that is as good on the other cluster, should the proxy lead there.
async fn kubeconfig(cluster: &Cluster, other: &Cluster) -> String {
    other.trust_clients_of(&cluster.client_authority()).await.unwrap();
    // For the rights that this user gets there, by its group.
    Confined::Standard.kubeconfig(other, ENGINE, Route::Direct);
    let own = cluster.certificate_authority();
    let both = STANDARD.encode(format!("{own}{}", other.certificate_authority()));
    Confined::Standard.kubeconfig(cluster, ENGINE, Route::Proxy).replace(&STANDARD.encode(own), &both)
}

fn document(verbs: &[&str]) -> Value {
    let permission = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": verbs});
    json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": CLOUD}, "spec": {
        "users": [{"name": "bot", "type": "token"}], "permissions": [permission],
        "clusters": [{"provider": "real", "cluster": "cluster-1"}]}})
}

fn lane(person: &User) -> Value {
    let status = person.run(["status", CLOUD, "-o", "json"]).done();
    let mut status: Value = serde_json::from_str(&status).unwrap();
    status["clusters"][NAME]["lane"].take()
}

async fn until_changed(person: &User) {
    until("a cluster that is another one", async || {
        let lane = lane(person);
        let is_told = lane["cause"]["reason"] == "cluster-changed" && lane["state"] != "done";
        is_told.then_some(())
    })
    .await;
}

/// What the engine asked the other cluster: nothing but what it is.
fn asked(other: &Cluster, since: Position) -> Vec<String> {
    let events = other.audit_log().events_since(since).unwrap();
    let ours =
        events.into_iter().filter(|event| event.user == ENGINE && event.stage == Stage::RequestReceived);
    let mut asked: Vec<String> = ours.map(|event| format!("{} {}", event.verb, event.request_uri)).collect();
    asked.dedup();
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_does_nothing_on_a_cluster_that_took_the_place_of_another_and_goes_on_when_that_is_back() {
    let environment = Environment::builder().clusters(2).start().await.unwrap();
    let [cluster, other] = environment.clusters() else { panic!("two clusters are needed") };
    let person = User::new();
    let file = person.write("kubeconfig", &kubeconfig(cluster, other).await);
    person.run(["cluster", "add", NAME, "--kubeconfig", file.to_str().unwrap()]).done();
    let worker = Worker::begin(person.command().arg("serve"));
    until_served(&person, &document(&["get"]).to_string()).await;
    let apply = |verbs: &[&str], arguments: &[&str]| {
        let arguments = ["apply", "-f", "-"].iter().chain(arguments);
        person.run_with_input(&arguments.copied().collect::<Vec<_>>(), &document(verbs).to_string())
    };
    let patient = ["--timeout", &timeout()];
    apply(&["get"], &patient).done();
    assert_eq!(lane(&person)["state"], "done");

    // With nothing to do, the watches find it.
    let since = other.audit_log().position().unwrap();
    cluster.proxy().lead_to(other.address()).await;
    until_changed(&person).await;
    // With something to do, too; the engine connects anew meanwhile.
    apply(&["get", "list"], &["--no-wait"]).done();
    until_changed(&person).await;
    assert_eq!(asked(other, since), ["get /api/v1/namespaces/kube-system"]);
    assert_eq!(kubectl(other, &["get", "namespaces", CLOUD, "--ignore-not-found", "-o", "name"]), "");

    cluster.proxy().lead_to(cluster.address()).await;
    until("the cluster itself", async || (lane(&person)["state"] == "done").then_some(())).await;
    let verbs = ["get", "role/look", "-n", CLOUD, "-o", "jsonpath={.rules[*].verbs}"];
    assert_eq!(kubectl(cluster, &verbs), r#"["get","list"]"#);
    worker.stop();
}
