//! A cluster that is reached over the proxy of the environment alone, as kubectl reaches it, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::{Environment, Route};

use crate::common::Ran;
use crate::common::installation::{Installation, Worker, until};

/// One is enough: each case is about the way to one API server.
const CLUSTERS: usize = 1;

/// Where the proxy alone finds the cluster.
const ELSEWHERE: &str = "https://api.lab.example:6443";

/// A proxy by CONNECT that leads to one server, whatever it is asked for, and wants a password where it has one.
struct Tunnel {
    address: SocketAddr,
    /// What was asked of it.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    fn new(server: SocketAddr, login: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let (kept, login) = (asked.clone(), login.map(|login| format!("Basic {}", STANDARD.encode(login))));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (kept, login) = (kept.clone(), login.clone());
                std::thread::spawn(move || lead(client.ok()?, server, &kept, login.as_deref()));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn lead(
    mut client: TcpStream,
    server: SocketAddr,
    asked: &Mutex<Vec<String>>,
    login: Option<&str>,
) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    asked.lock().unwrap().push(head.first()?.clone());
    let is_shown = |login: &str| head.iter().any(|line| line.ends_with(login));
    if login.is_some_and(|login| !is_shown(login)) {
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").ok()?;
        return None;
    }
    let mut server = TcpStream::connect(server).ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut back = (server.try_clone().ok()?, client.try_clone().ok()?);
    std::thread::spawn(move || pass(&mut back.0, &mut back.1));
    pass(&mut reader, &mut server);
    Some(())
}

fn pass(from: &mut impl Read, to: &mut TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The kubeconfig of an installation's user, for the cluster where the proxy alone finds it.
fn elsewhere(installation: &Installation<'_>) -> String {
    let [cluster] = installation.clusters() else { panic!() };
    let direct = installation.confined.kubeconfig(cluster, &installation.identity, Route::Direct);
    let server = format!("server: {ELSEWHERE}\n    tls-server-name: kubernetes");
    direct.replace(&format!("server: {}", cluster.url()), &server)
}

#[tokio::test]
async fn commands_use_the_proxy_of_the_environment_where_kubectl_does() {
    let environment = Environment::group("environment_proxy", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "proxied");
    let [cluster] = installation.clusters() else { panic!() };
    let (open, closed) =
        (Tunnel::new(cluster.address(), None), Tunnel::new(cluster.address(), Some("ann:p@ss")));
    let (plain, locked) = (format!("http://{}", open.address), format!("ann:p%40ss@{}", closed.address));
    let person = &installation.person;
    let file = person.write("elsewhere", &elsewhere(&installation));
    let file = file.to_str().unwrap();
    person.run(["cluster", "add", "lab/elsewhere", "--unchecked", "--kubeconfig", file]).done();

    // Of each: the environment, and whether the cluster is reached.
    let cases: [(&[(&str, &str)], bool); 12] = [
        (&[], false),
        (&[("HTTPS_PROXY", &plain)], true),
        (&[("https_proxy", &plain)], true),
        (&[("HTTPS_PROXY", plain.trim_start_matches("http://"))], true),
        (&[("HTTPS_PROXY", &locked)], true),
        (&[("HTTPS_PROXY", &locked.replace("p%40ss", "other"))], false),
        (&[("HTTP_PROXY", &plain)], false),
        (&[("HTTPS_PROXY", &plain), ("NO_PROXY", "api.lab.example")], false),
        (&[("HTTPS_PROXY", &plain), ("no_proxy", "10.0.0.0/8, .lab.example")], false),
        (&[("HTTPS_PROXY", &plain), ("NO_PROXY", "*")], false),
        (&[("HTTPS_PROXY", &plain), ("NO_PROXY", "api.lab.example:443,lab,.api.lab.example")], true),
        (&[("HTTPS_PROXY", "https://proxy.example:8080")], false),
    ];
    for (variables, is_reached) in cases {
        let variables = || variables.iter().copied();
        let ran = Ran::of(
            person.command().envs(variables()).args(["cluster", "check", "lab/elsewhere"]).output().unwrap(),
        );
        let asked = [open.asked(), closed.asked()].concat();
        let mut kubectl = Command::new(environment.kubectl());
        kubectl.env_clear().env("HOME", person.home()).envs(variables()).stdin(Stdio::null());
        kubectl.args(["--kubeconfig", file, "auth", "whoami"]);
        let by_kubectl = Ran::of(kubectl.output().unwrap());
        let asked_by_kubectl = [open.asked(), closed.asked()].concat();
        let environment: Vec<_> = variables().collect();
        assert_eq!(by_kubectl.code == 0, is_reached, "{environment:?}: {by_kubectl:#?}");
        // Another name of the same cluster is found only where it was reached.
        assert_eq!(ran.out.contains("real/cluster-1"), is_reached, "{environment:?}: {ran:#?}");
        assert_eq!(asked.is_empty(), asked_by_kubectl.is_empty(), "{environment:?}: {asked:?}");
        assert!(asked.iter().all(|line| line == "CONNECT api.lab.example:6443 HTTP/1.1"), "{asked:?}");
        assert!(!ran.err.contains("other@") && !ran.err.contains("p@ss"), "{ran:#?}");
        if !is_reached && !asked.is_empty()
            || environment.iter().any(|(_, value)| value.starts_with("https:"))
        {
            assert!(ran.err.contains("HTTPS_PROXY"), "{environment:?}: {ran:#?}");
        }
    }

    // A server on this machine is reached without a proxy.
    let variables = [("HTTPS_PROXY", "http://127.0.0.1:9"), ("HTTP_PROXY", "http://127.0.0.1:9")];
    let mut check = person.command();
    check.envs(variables).args(["cluster", "check", "real/cluster-1"]);
    Ran::of(check.output().unwrap()).done();
}

#[tokio::test]
async fn a_server_uses_the_proxy_of_the_environment_by_a_setting_that_its_message_names() {
    let environment = Environment::group("environment_proxy", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "served");
    let [cluster] = installation.clusters() else { panic!() };
    let (tunnel, person) = (Tunnel::new(cluster.address(), None), &installation.person);
    let proxy = format!("http://{}", tunnel.address);
    let file = person.write("elsewhere", &elsewhere(&installation));
    let update =
        ["cluster", "update", "real/cluster-1", "--unchecked", "--kubeconfig", file.to_str().unwrap()];
    person.run(update).done();
    let document = installation.document("proxied", serde_json::json!({"users": [{"name": "ann"}]}));
    installation.hand_over(&document);
    let serve = |more: &[&str]| {
        Worker::begin(
            person.command().env("HTTPS_PROXY", &proxy).arg("serve").args(more).stderr(Stdio::null()),
        )
    };
    let cause = async || {
        let status = installation.status("proxied").to_string();
        status
            .contains("the proxy of HTTPS_PROXY is not used, the server's setting environmentProxy uses it")
            .then_some(())
    };
    let worker = serve(&[]);
    until("a cause that names the setting", cause).await;
    worker.stop();
    assert_eq!(tunnel.asked(), Vec::<String>::new());

    let worker = serve(&["--environment-proxy"]);
    let done = async || (installation.lane("proxied", cluster)["state"] == "done").then_some(());
    until("a cloud that is done over the proxy", done).await;
    worker.stop();
    assert!(!tunnel.asked().is_empty());
}
