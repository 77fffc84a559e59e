//! A registered kubeconfig that leads to a server of the attacker's, which copies the UID of the cluster.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dcm_testenv::{Cluster, Route};
use serde_json::{Value, json};

use crate::attacks::environment;
use crate::common::installation::{Installation, kubectl, registered, until};
use crate::common::server::begin;

const CLOUD: &str = "copycat";
const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// A server that answers as the cluster does, UID and certificate included: it passes everything on.
struct Copycat {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Copycat {
    /// In front of the server of a kubeconfig.
    fn of(kubeconfig: &Value) -> Self {
        let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
        let target: SocketAddr = server.strip_prefix("https://").unwrap().parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::SeqCst);
                let Ok(server) = TcpStream::connect(target) else { continue };
                pass_on(stream.try_clone().unwrap(), server.try_clone().unwrap());
                pass_on(server, stream);
            }
        });
        Self { address, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// What users with the permission may do, as the cluster has it.
fn verbs(cluster: &Cluster) -> String {
    kubectl(cluster, &["get", "role/look", "-n", CLOUD, "-o", "jsonpath={.rules[*].verbs}"])
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_a_server_that_copies_the_uid_of_a_cluster_until_it_is_accepted() {
    let environment = environment().await;
    let installation = Installation::new(&environment, CLOUD);
    let (cluster, id) = (&environment.clusters()[0], registered(&environment.clusters()[0]));
    let permission =
        |verbs: &[&str]| json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": verbs});
    let mut document = installation.document(
        CLOUD,
        json!({"users": [{"name": "bot", "type": "token"}], "permissions": [permission(&["get"])]}),
    );
    let (worker, listeners, _log) = begin(&installation.person, &LISTEN);
    installation.apply(&document).done();

    // The registrar's own look at it is answered; it is the last that this server hears.
    let stolen = installation.confined.kubeconfig(cluster, &installation.identity, Route::Direct);
    let mut stolen: Value = serde_saphyr::from_str(&stolen).unwrap();
    let copycat = Copycat::of(&stolen);
    stolen["clusters"][0]["cluster"]["server"] = format!("https://{}", copycat.address).into();
    let (provider, name) = id.split_once('/').unwrap();
    let body = json!({"spec": {"kubeconfig": stolen.to_string()}});
    let put = format!("PUT /v2/cluster-providers/{provider}/clusters/{name}\n\n{body}");
    let answer = listeners[0].ask(&put);
    assert!(answer.starts_with("200") && answer.contains(r#""moved":true"#), "{answer}");
    let checked = installation.person.run(["cluster", "check", &id, "-o", "json"]);
    let found: Value = serde_json::from_str(&checked.out).unwrap();
    assert_eq!(
        (checked.code, &found["moved"], &found["isReady"]),
        (5, &json!(true), &json!(false)),
        "{found:#}"
    );
    worker.stop();

    // A worker that has to connect anew, and callers that have it send or hand out something.
    let (looks, since) = (copycat.connections(), installation.moment());
    assert!(looks > 0, "nothing leads to this server in any case");
    let (worker, ..) = begin(&installation.person, &LISTEN);
    document["spec"]["permissions"][0] = permission(&["get", "list"]);
    let halted = installation.apply(&document).ended_with(5);
    assert!(halted.contains("dcm cluster accept"), "{halted}");
    let lane = installation.lane(CLOUD, cluster);
    assert_eq!(lane["cause"]["reason"], "cluster-changed", "{lane:#}");
    let plan = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string());
    assert!(plan.code == 1 && plan.out.contains("nothing is sent there until it is accepted"), "{plan:?}");
    let refused = installation.person.run(["kubeconfig", CLOUD, "--user", "bot"]);
    assert!(refused.code != 0 && refused.err.contains("dcm cluster accept"), "{refused:?}");
    assert_eq!(copycat.connections(), looks, "something was sent to the server of the attacker");
    assert_eq!(installation.writes(&since), [Vec::<String>::new()]);
    assert_eq!(verbs(cluster), r#"["get"]"#);

    let accepted = installation.person.run(["cluster", "accept", &id]);
    assert!(accepted.code == 0 && accepted.err.contains("are accepted"), "{accepted:?}");
    until("the change", async || (verbs(cluster) == r#"["get","list"]"#).then_some(())).await;
    assert!(copycat.connections() > looks);
    installation.person.run(["kubeconfig", CLOUD, "--user", "bot"]).done();
    installation.apply(&document).done();
    let again = installation.person.run(["cluster", "accept", &id]);
    assert!(again.code == 0 && again.err.contains("is no other cluster than before"), "{again:?}");
    installation.terminate(CLOUD).done();
    worker.stop();
}
