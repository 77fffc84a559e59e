//! The address of a cluster leads to another one, with the same authorities: nothing is written there, and nothing is taken from it.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

mod scripted;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use crate::common::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::app_context::TokenRequest;
use dcm_core::port::cluster::{Call, Cluster as _, Deletion, Error, Object, Origin, Part, Watch, WatchEvent};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::audit::{AuditEvent, Position, Stage};
use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster as Server, Environment, Route};
use futures::StreamExt as _;
use serde_json::json;

/// Requests at once.
const BURST: usize = 40;

/// A kubeconfig of the first server's administrator, by its proxy, that trusts both servers' authorities. The second server accepts
/// the administrator, too.
async fn twins(environment: &Environment) -> String {
    let [first, second] = environment.clusters() else { panic!("two clusters are needed") };
    second.trust_clients_of(&first.client_authority()).await.unwrap();
    let own = first.certificate_authority();
    let both = STANDARD.encode(format!("{own}{}", second.certificate_authority()));
    first.admin_kubeconfig(Route::Proxy).replace(&STANDARD.encode(own), &both)
}

/// A client whose cluster is known, and the objects that it works with on both servers.
struct Moving<'a> {
    first: &'a Server,
    second: &'a Server,
    /// Where the two are reached, when it is not directly.
    addresses: [SocketAddr; 2],
    kubeconfig: String,
    options: Options,
    cluster: KubeCluster,
    call: Call,
    made: Object,
}

impl<'a> Moving<'a> {
    /// The administrator by HTTP/2, as API servers speak it.
    async fn begin(environment: &'a Environment) -> Self {
        let kubeconfig = twins(environment).await;
        let options = Options { request_time_limit: patience(), ..Options::default() };
        let addresses = [0, 1].map(|at: usize| environment.clusters()[at].address());
        Self::with(environment, kubeconfig, options, addresses).await
    }

    async fn with(
        environment: &'a Environment,
        kubeconfig: String,
        options: Options,
        addresses: [SocketAddr; 2],
    ) -> Self {
        let [first, second] = environment.clusters() else { panic!("two clusters are needed") };
        first.proxy().lead_to(addresses[0]).await;
        let call = call("moved");
        let there = administrator(second).await;
        namespace(&there, &call, "moved").await;
        there.create(&call, &data(&call, "moved", "theirs", &json!({"of": "second"}))).await.unwrap();
        there.create(&call, &data(&call, "moved", "both", &json!({"of": "second"}))).await.unwrap();
        let cluster = connect(&kubeconfig, &options).await;
        cluster.uid(&call).await.unwrap();
        namespace(&cluster, &call, "moved").await;
        let made =
            cluster.create(&call, &data(&call, "moved", "both", &json!({"of": "first"}))).await.unwrap();
        Self { first, second, addresses, kubeconfig, options, cluster, call, made }
    }

    async fn move_to(&self, at: usize) {
        self.first.proxy().lead_to(self.addresses[at]).await;
    }

    /// Another client, as the engine makes one.
    async fn another(&self) -> KubeCluster {
        connect(&self.kubeconfig, &self.options).await
    }

    /// Sends every kind of write, and returns the errors.
    async fn writes(&self, cluster: &KubeCluster) -> Vec<(&'static str, Option<Error>)> {
        let (call, made, observed) = (&self.call, &self.made, observed(&self.made));
        let new = data(call, "moved", "new", &json!({"a": "1"}));
        let changed = data(call, "moved", "both", &json!({"a": "2"}));
        let binding = kind("rbac.authorization.k8s.io", "v1", "RoleBinding");
        let binding_key = key(&binding, Some("moved"), "any");
        let request = kind("certificates.k8s.io", "v1", "CertificateSigningRequest");
        let token = token_request();
        vec![
            ("create", cluster.create(call, &new).await.err()),
            ("update", cluster.update(call, &changed, &observed, true).await.err()),
            ("delete", cluster.delete(call, &made.kind, &made.key, &observed).await.err()),
            ("release", cluster.release(call, &made.kind, &made.key, &observed, Origin::Created).await.err()),
            (
                "subjects",
                cluster
                    .set_part(call, &binding, &binding_key, &observed, &Part::Subjects(Vec::new()))
                    .await
                    .err(),
            ),
            ("approve", cluster.approve(call, &key(&request, None, "any"), &observed).await.err()),
            ("token", cluster.issue_token(call, &token).await.err()),
            ("get", cluster.get(call, &made.kind, &made.key).await.err()),
            ("list", cluster.list(call, &made.kind, None, None).await.err()),
            ("watch", cluster.watch(call, &selection(call, &made.kind)).await.err()),
            ("contents", cluster.contents(call, "moved", None).await.err()),
            ("uid", cluster.uid(call).await.err()),
        ]
    }

    /// Asks until the client has seen that its connections are gone; returns the first answer after that.
    async fn settled(&self, cluster: &KubeCluster) -> Result<Option<Object>, Error> {
        within(patience(), async {
            loop {
                match cluster.get(&self.call, &self.made.kind, &self.made.key).await {
                    Err(error) if error.outcome_is_unknown() => {}
                    settled => return settled,
                }
            }
        })
        .await
    }

    /// What the second server was asked meanwhile by this test's client.
    fn asked_there(&self, since: Position) -> Vec<String> {
        asked(self.second, since)
            .iter()
            .map(|event| format!("{} {}", event.verb, event.request_uri))
            .collect()
    }

    /// Nothing reaches the other server but the question which cluster it is, once for each connection and client.
    async fn is_not_written_there(&self) {
        let (before, since) = (self.state_there(), self.second.audit_log().position().unwrap());
        self.move_to(1).await;
        let moved = self.settled(&self.cluster).await.unwrap_err();
        assert!(matches!(moved, Error::Moved), "{moved:?}");
        for (what, error) in self.writes(&self.cluster).await {
            assert!(matches!(error, Some(Error::Moved)), "{what}: {error:?}");
        }
        let questions = self.asked_there(since);
        assert_eq!(questions, ["get /api/v1/namespaces/kube-system"], "one, and no more once it is known");
        assert_eq!(self.state_there(), before);

        // Back at the first one, that client stays as it is; another one works, and finds what it left.
        self.move_to(0).await;
        let error = self.cluster.get(&self.call, &self.made.kind, &self.made.key).await.unwrap_err();
        assert!(matches!(error, Error::Moved), "{error:?}");
        let again = self.another().await;
        again.uid(&self.call).await.unwrap();
        let live = again.get(&self.call, &self.made.kind, &self.made.key).await.unwrap().unwrap();
        assert_eq!(live.uid, self.made.uid);
        let deleted = again.delete(&self.call, &live.kind, &live.key, &observed(&live)).await.unwrap();
        assert_eq!(deleted, Deletion::Gone);
        assert_eq!(self.state_there(), before);
    }

    /// The objects of the namespace on the second server, with their versions, but for the one that the controller manager writes at some time.
    fn state_there(&self) -> String {
        let fields =
            "jsonpath={range .items[*]}{.metadata.uid} {.metadata.resourceVersion} {.data}{\"\\n\"}{end}";
        let others = "metadata.name!=kube-root-ca.crt";
        kubectl(
            self.second,
            &["-n", "moved", "get", "configmaps", "--field-selector", others, "-o", fields],
            "",
        )
    }
}

fn token_request() -> TokenRequest {
    TokenRequest { namespace: "moved".into(), service_account: "default".into(), lifetime_seconds: Some(600) }
}

/// What a server was asked by this test's clients.
fn asked(server: &Server, since: Position) -> Vec<AuditEvent> {
    let mut events = server.audit_log().events_since(since).unwrap();
    events
        .retain(|event| event.stage == Stage::RequestReceived && event.user_agent.contains(" owner=moved "));
    events
}

async fn two() -> Environment {
    Environment::builder().clusters(2).start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_to_another_cluster_that_the_address_leads_to_from_now_on() {
    let environment = two().await;
    Moving::begin(&environment).await.is_not_written_there().await;
}

/// A `kubectl proxy`, which speaks HTTP/1.1 alone; it ends when this is dropped.
struct Plain {
    process: Child,
    address: SocketAddr,
}

impl Plain {
    fn of(server: &Server) -> Self {
        let mut command = server.kubectl();
        let mut process =
            command.args(["proxy", "--port=0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        Self { process, address }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client by HTTP/1.1, through the proxy of the first server.
async fn plain<'a>(environment: &'a Environment, plains: &[Plain; 2]) -> Moving<'a> {
    let kubeconfig = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n",
        environment.clusters()[0].proxy().address()
    );
    let options = Options {
        request_time_limit: patience(),
        allowed: Allowed { insecure: true, ..Allowed::default() },
        ..Options::default()
    };
    Moving::with(environment, kubeconfig, options, [plains[0].address, plains[1].address]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_to_another_cluster_over_http_1_either() {
    let environment = two().await;
    let plains = [0, 1].map(|at: usize| Plain::of(&environment.clusters()[at]));
    plain(&environment, &plains).await.is_not_written_there().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_takes_nothing_from_another_cluster_and_ends() {
    let environment = two().await;
    let moving = Moving::begin(&environment).await;
    let mut watch =
        moving.cluster.watch(&moving.call, &selection(&moving.call, &config_map())).await.unwrap();
    let next = async |watch: &mut Watch| within(patience(), watch.next()).await;
    let Some(Ok(WatchEvent::Listed(listed))) = next(&mut watch).await else { panic!("no list") };
    assert_eq!(listed.iter().map(|object| &*object.uid).collect::<Vec<_>>(), [&*moving.made.uid]);
    let since = moving.second.audit_log().position().unwrap();
    moving.move_to(1).await;
    let ended = next(&mut watch).await;
    assert!(matches!(ended, Some(Err(Error::Moved))), "{ended:?}");
    assert!(next(&mut watch).await.is_none());
    assert_eq!(moving.asked_there(since), ["get /api/v1/namespaces/kube-system"]);
    // A client that comes new learns that it is the other one, and so follows that one.
    let other = moving.another().await;
    assert_ne!(
        other.uid(&moving.call).await.unwrap(),
        administrator(moving.first).await.uid(&moving.call).await.unwrap()
    );
    let mut watch = other.watch(&moving.call, &selection(&moving.call, &config_map())).await.unwrap();
    let Some(Ok(WatchEvent::Listed(listed))) = next(&mut watch).await else { panic!("no list") };
    assert_eq!(listed.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_cluster_is_asked_once_for_each_connection_and_work_goes_on() {
    let environment = two().await;
    let moving = Moving::begin(&environment).await;
    for round in 0..2 {
        let since = moving.first.audit_log().position().unwrap();
        moving.first.proxy().reset().await;
        assert!(moving.settled(&moving.cluster).await.unwrap().is_some());
        let maps: Vec<_> = (0..BURST)
            .map(|number| data(&moving.call, "moved", &format!("c{round}-{number}"), &json!({})))
            .collect();
        let made = futures::future::join_all(maps.iter().map(|map| moving.cluster.create(&moving.call, map)));
        let made = made.await;
        assert!(made.iter().all(Result::is_ok), "{:?}", made.iter().find(|made| made.is_err()));
        let events = asked(moving.first, since);
        assert_eq!(questions(&events), 1, "one connection, one question");
        assert_eq!(events.iter().filter(|event| event.verb == "create").count(), BURST);
    }
}

fn questions(events: &[AuditEvent]) -> usize {
    events.iter().filter(|event| event.request_uri == "/api/v1/namespaces/kube-system").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_connection_of_http_1_is_asked_before_its_first_other_request() {
    let environment = two().await;
    let plains = [0, 1].map(|at: usize| Plain::of(&environment.clusters()[at]));
    let moving = plain(&environment, &plains).await;
    let since = moving.first.audit_log().position().unwrap();
    moving.first.proxy().reset().await;
    assert!(moving.settled(&moving.cluster).await.unwrap().is_some());
    let maps: Vec<_> =
        (0..BURST).map(|number| data(&moving.call, "moved", &format!("c{number}"), &json!({}))).collect();
    let made = futures::future::join_all(maps.iter().map(|map| moving.cluster.create(&moving.call, map)));
    let made = made.await;
    assert!(made.iter().all(Result::is_ok), "{:?}", made.iter().find(|made| made.is_err()));
    let many = questions(&asked(moving.first, since));
    assert!((1..=BURST + 1).contains(&many), "{many}");
    // Their connections are there now: they are used again, and not asked again.
    let since = moving.first.audit_log().position().unwrap();
    for _ in 0..BURST {
        assert!(moving.settled(&moving.cluster).await.unwrap().is_some());
    }
    assert_eq!(questions(&asked(moving.first, since)), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_learned_a_uid_expects_none_and_asks_nothing() {
    let environment = two().await;
    let moving = Moving::begin(&environment).await;
    let cluster = moving.another().await;
    assert!(moving.settled(&cluster).await.unwrap().is_some());
    let since = moving.second.audit_log().position().unwrap();
    moving.move_to(1).await;
    let there = moving.settled(&cluster).await.unwrap().unwrap();
    assert_ne!(there.uid, moving.made.uid);
    assert_eq!(questions(&asked(moving.second, since)), 0);
}
