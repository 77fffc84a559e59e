//! Cluster registrars that look into networks by kubeconfigs.

mod causes;
mod foreign;

use dcm_testenv::Route;
use serde_json::{Value, json};

use self::foreign::Foreign;
use crate::access::callers::Guarded;
use crate::attacks::environment;
use crate::common::server::{Listener, Server};

const CLUSTERS: &str = "/v2/cluster-providers/edge/clusters";

/// The words of a foreign server that the registrar wants to read.
const WORDS: &str = "hunter2";

/// A registrar at a server of both dialects.
struct Registrar {
    server: Server,
    header: String,
    log: std::sync::mpsc::Receiver<String>,
}

impl Registrar {
    /// At a server with these settings.
    fn at(settings: &Value) -> Self {
        let guarded = Guarded::new();
        let mut all = json!({"requests": {"perSecond": 0}});
        for (field, value) in settings.as_object().unwrap() {
            all[field] = value.clone();
        }
        guarded.configure(&all);
        let header = guarded.header("registrar");
        let options =
            ["--config", "settings.yaml", "--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"];
        let (server, log) = Server::serving(guarded.person, &options);
        let registrar = Self { server, header, log };
        let (status, answer) =
            registrar.ask("POST /v2/cluster-providers", &json!({"metadata": {"name": "edge"}}).to_string());
        assert_eq!(status, "201", "{answer}");
        registrar
    }

    fn ask_at(&self, listener: Listener, line: &str, body: &str) -> (String, String) {
        let answer = listener.ask(&format!("{line}\n{}\n\n{body}", self.header));
        let (head, body) = answer.split_once("\n\n").unwrap();
        (head[..3].to_owned(), format!("{head}\n{body}"))
    }

    fn ask(&self, line: &str, body: &str) -> (String, String) {
        self.ask_at(self.server.listeners()[0], line, body)
    }

    /// All that a registrar is answered about a kubeconfig: by a check, by a registration in either dialect, and about what is
    /// registered.
    fn answers(&self, name: &str, kubeconfig: &str) -> Vec<(String, String)> {
        let named = |end: &str| format!("{name}-{end}");
        let register = |end: &str| {
            json!({"metadata": {"name": named(end)}, "spec": {"kubeconfig": kubeconfig}}).to_string()
        };
        let unchecked = named("unchecked");
        let (status, answer) = self.ask(&format!("POST {CLUSTERS}?unchecked=true"), &register("unchecked"));
        assert_eq!(status, "201", "{answer}");
        vec![
            self.ask(
                &format!("POST {CLUSTERS}/{name}/check"),
                &json!({"kubeconfig": kubeconfig}).to_string(),
            ),
            self.ask(&format!("POST {CLUSTERS}"), &register("checked")),
            self.ask(&format!("GET {CLUSTERS}/{unchecked}/check"), ""),
            self.ask(&format!("POST {CLUSTERS}/{unchecked}/accept?uid=a"), ""),
            self.ask(&format!("GET {CLUSTERS}/{unchecked}"), ""),
            self.form(&named("emco"), kubeconfig),
        ]
    }

    /// Registers as EMCO's client does.
    fn form(&self, name: &str, kubeconfig: &str) -> (String, String) {
        let metadata = json!({"metadata": {"name": name}});
        let body = format!(
            "--part\nContent-Disposition: form-data; name=\"metadata\"\n\n{metadata}\n\
             --part\nContent-Disposition: form-data; name=\"file\"; filename=\"filename\"\n\n{}\n--part--\n",
            kubeconfig.trim_end()
        );
        let line = format!("POST {CLUSTERS}\nContent-Type: multipart/form-data; boundary=part");
        self.ask_at(self.server.listeners()[1], &line, &body)
    }

    /// Ends the server; gives its log.
    fn end(self) -> Vec<String> {
        self.server.stop();
        self.log.iter().collect()
    }
}

/// An answer of Kubernetes, with the words.
fn status(code: u16) -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": WORDS, "code": code})
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_scans_by_kubeconfigs_and_reads_no_foreign_body() {
    let registrar = Registrar::at(&json!({}));
    let foreign = Foreign::new();
    let page = format!("<html>{WORDS}</html>");
    let bodies = [
        (200, format!(r#"{{"metadata": {{"uid": "{WORDS} is no UID"}}}}"#)),
        (200, format!(r#"{{"metadata": "{WORDS}"}}"#)),
        (200, format!(r#""{WORDS}""#)),
        (200, page.clone()),
        (302, page.clone()),
        (401, status(401)),
        (403, status(403)),
        (403, page.clone()),
        (404, page.clone()),
        (409, status(409)),
        (422, status(422)),
        (500, status(500)),
        (503, page),
    ];
    for (number, (code, body)) in bodies.iter().enumerate() {
        foreign.say(*code, body);
        let kubeconfig = foreign.kubeconfig("127.0.0.1");
        for (status, answer) in registrar.answers(&format!("c{number}"), &kubeconfig) {
            assert!(!answer.contains(WORDS), "{code} {body}: {status} {answer}");
        }
        let check = format!("POST {CLUSTERS}/c/check");
        let (status, answer) = registrar.ask(&check, &json!({"kubeconfig": kubeconfig}).to_string());
        assert!(status.starts_with('4') && answer.contains("the server's log has the details"), "{answer}");
    }
    // What looks like a cluster has a version.
    let looks_like_one = json!({"metadata": {"uid": "a"}, "gitVersion": format!("{WORDS} is no version"), "status": {"allowed": true}});
    foreign.say(200, &looks_like_one.to_string());
    for (status, answer) in registrar.answers("like", &foreign.kubeconfig("127.0.0.1")) {
        assert!(!answer.contains(WORDS), "{status} {answer}");
    }
    assert!(foreign.connections() > 0);

    // An API server names its user and its objects in a refusal.
    let environment = environment().await;
    let cluster = &environment.clusters()[0];
    let identity = cluster.issue("attack-registrar", &[]).unwrap();
    for (_, answer) in registrar.answers("real", &cluster.kubeconfig(&identity, Route::Direct)) {
        assert!(!answer.contains("cannot get resource") && !answer.contains("attack-registrar"), "{answer}");
    }
    let log = registrar.end();
    for words in [WORDS, "cannot get resource"] {
        assert!(
            log.iter().any(|line| line.contains(words)),
            "the operator reads {words} in the log: {log:#?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_reaches_no_link_local_address() {
    let registrar = Registrar::at(&json!({}));
    let foreign = Foreign::new();
    for (number, host) in
        ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "0xa9fea9fe"].into_iter().enumerate()
    {
        let name = format!("local-{number}");
        let answers = registrar.answers(&name, &foreign.kubeconfig(host));
        // One of them shows what is registered, and asks no cluster.
        for (status, answer) in answers.iter().filter(|(status, _)| status != "200") {
            assert!(status.starts_with('4'), "{host}: {status} {answer}");
            assert!(
                answer.contains("clusters[].cluster.server") && answer.contains("deniedNetworks"),
                "{host}: {answer}"
            );
        }
        assert_eq!(answers.iter().filter(|(status, _)| status == "200").count(), 1, "{answers:?}");
    }
    registrar.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_reaches_no_denied_network_by_an_address_or_a_name() {
    let denied = json!({"deniedNetworks": ["127.0.0.0/8", "::1/128"]});
    let registrar = Registrar::at(&denied);
    let foreign = Foreign::new();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let check = json!({"kubeconfig": foreign.kubeconfig(host)}).to_string();
        let (status, answer) = registrar.ask(&format!("POST {CLUSTERS}/c/check"), &check);
        assert!(status.starts_with('4') && answer.contains("deniedNetworks"), "{host}: {status} {answer}");
    }
    assert_eq!(foreign.connections(), 0);
    registrar.end();
}
