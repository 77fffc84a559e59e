//! A real CoreDNS, beside a real API server, resolves a zone through the stub domain of a Corefile that belongs to others, and all other
//! names as before.

use std::net::Ipv4Addr;
use std::path::Path;

use dcm_core::corefile::StubDomain;
use dcm_core::name::{ContextId, DnsZone};
use dcm_testenv::effort::patience;
use dcm_testenv::{CoreDns, Environment, Route};
use tempfile::TempDir;
use tokio::time::timeout;

/// A name of the zone, as the resolver of the logical cloud answers it.
const OF_ZONE: (&str, Ipv4Addr) = ("shop.lc1", Ipv4Addr::new(240, 0, 0, 2));

/// Names that are not the stub domain's: of a Service, of the node's resolver, and of zones that others serve.
const OTHERS: [&str; 4] =
    ["kubernetes.default.svc.cluster.local", "outside.example", "lc1.outside.example", "own.corp"];

/// The servers that a cluster's CoreDNS asks.
struct Servers {
    /// Of the API server.
    _environment: Environment,
    /// The resolver of the logical cloud.
    cloud: CoreDns,
    /// What `/etc/resolv.conf` names on a node.
    node: CoreDns,
    folder: TempDir,
}

impl Servers {
    async fn start() -> Self {
        let environment = Environment::shared(1).await.unwrap();
        let admin_kubeconfig = environment.clusters()[0].admin_kubeconfig(Route::Direct);
        let (name, address) = OF_ZONE;
        let cloud = CoreDns::start(|port| {
            format!(
                "lc1:{port} {{\n    errors\n    template IN A {name} {{\n        answer \"{{{{ .Name }}}} 60 IN A {address}\"\n    }}\n    \
                 template IN A lc1 {{\n        rcode NXDOMAIN\n    }}\n}}\n"
            )
        });
        let node = CoreDns::start(|port| {
            format!(
                ".:{port} {{\n    template IN A {{\n        answer \"{{{{ .Name }}}} 60 IN A 203.0.113.1\"\n    }}\n}}\n"
            )
        });
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), admin_kubeconfig).unwrap();
        std::fs::write(
            folder.path().join("own.server"),
            "own.corp:PORT {\n    hosts {\n        192.0.2.9 own.corp\n    }\n}\n",
        )
        .unwrap();
        Self { _environment: environment, cloud: cloud.await.unwrap(), node: node.await.unwrap(), folder }
    }

    fn stub(&self) -> StubDomain {
        let address = self.cloud.address();
        let context = ContextId::new("dcm-proj1-lc1-0123456789abcdef").unwrap();
        StubDomain::new(context, DnsZone::new("lc1").unwrap(), address.ip()).with_port(address.port())
    }
}

/// The Corefile of kubeadm, with the API server and the resolver of this test, and without the plugins that have ports of their own.
fn kubeadm(port: u16, servers: &Servers) -> String {
    let kubeconfig = servers.folder.path().join("kubeconfig");
    format!(
        ".:{port} {{\n    errors\n    kubernetes cluster.local in-addr.arpa ip6.arpa {{\n       kubeconfig {}\n       pods insecure\n       \
         fallthrough in-addr.arpa ip6.arpa\n       ttl 30\n    }}\n    forward . {} {{\n       max_concurrent 1000\n    }}\n    cache 30\n    \
         loop\n    reload 2s 1s\n    loadbalance\n}}\n",
        kubeconfig.display(),
        servers.node.address()
    )
}

/// Blocks of other zones, snippets, imports and comments, as users and distributions add them.
fn changed_by_users(port: u16, servers: &Servers) -> String {
    let rest = kubeadm(port, servers).replace("    cache 30\n", "    import common # of all\n");
    format!(
        "# our company's zones\n(common) {{\n    cache 30\n}}\n{rest}own.corp:{port} {{\n    import common\n    hosts {{\n        192.0.2.9 \
         own.corp\n    }}\n}} # end"
    )
}

fn with_imports(port: u16, servers: &Servers) -> String {
    let folder = servers.folder.path();
    let file = std::fs::read_to_string(folder.join("own.server")).unwrap().replace("PORT", &port.to_string());
    std::fs::write(folder.join(format!("{port}.server")), file).unwrap();
    let import = |pattern: &Path| format!("import {}\n", pattern.display());
    kubeadm(port, servers).replace('}', "} ") + &import(&folder.join(format!("{port}.serve*")))
}

fn of_windows(port: u16, servers: &Servers) -> String {
    format!("\u{feff}{}", changed_by_users(port, servers).replace('\n', "\r\n"))
}

/// One block without braces, which goes to the end of the file.
fn without_braces(port: u16, servers: &Servers) -> String {
    let rest = kubeadm(port, servers).replacen(" {\n", "\n", 1);
    rest.strip_suffix("}\n").unwrap().to_owned()
}

async fn answers(server: &CoreDns) -> Vec<Option<Vec<Ipv4Addr>>> {
    let mut answers = Vec::new();
    for name in OTHERS {
        answers.push(server.resolve(name).await.unwrap());
    }
    answers
}

#[tokio::test]
async fn the_zone_resolves_through_the_stub_and_all_else_as_before() {
    let servers = Servers::start().await;
    let stub = servers.stub();
    let forms = [kubeadm, changed_by_users, with_imports, of_windows, without_braces];
    for (index, form) in forms.into_iter().enumerate() {
        let before = CoreDns::start(|port| form(port, &servers)).await.unwrap();
        let expected = answers(&before).await;
        assert!(expected[0].as_ref().is_some_and(|found| found.len() == 1), "form {index}: {expected:?}");
        assert_ne!(before.resolve(OF_ZONE.0).await.unwrap(), Some(vec![OF_ZONE.1]), "form {index}");

        let edited = CoreDns::start(|port| stub.edit(&form(port, &servers), &[]).unwrap()).await.unwrap();
        assert_eq!(edited.resolve(OF_ZONE.0).await.unwrap(), Some(vec![OF_ZONE.1]), "form {index}");
        assert_eq!(edited.resolve("gone.lc1").await.unwrap(), None, "form {index}");
        assert_eq!(answers(&edited).await, expected, "form {index}");
        let text = std::fs::read_to_string(edited.corefile()).unwrap();
        let port = edited.address().port();
        assert_eq!(stub.undo(&text).unwrap(), form(port, &servers), "form {index}");
    }
}

#[tokio::test]
async fn a_running_coredns_takes_the_stub_up_and_gives_it_up_again() {
    let servers = Servers::start().await;
    let stub = servers.stub();
    let server = CoreDns::start(|port| kubeadm(port, &servers)).await.unwrap();
    let before = answers(&server).await;
    let outside = server.resolve(OF_ZONE.0).await.unwrap();
    let current = std::fs::read_to_string(server.corefile()).unwrap();
    let edited = stub.edit(&current, &[]).unwrap();
    for (text, expected) in [(&edited, Some(vec![OF_ZONE.1])), (&stub.undo(&edited).unwrap(), outside)] {
        server.write_corefile(text).unwrap();
        let taken = server.until_resolved(OF_ZONE.0, expected.as_deref());
        timeout(patience(), taken).await.expect("the Corefile is read anew").unwrap();
        assert_eq!(answers(&server).await, before);
    }
}
