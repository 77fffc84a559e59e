//! What the kubeconfigs of the cases are made of, and how a case is written down.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::{Cluster, Environment};

use crate::common::{User, said};

/// A file, and what becomes of it.
pub(super) struct Case {
    /// The field that it is about.
    pub(super) field: &'static str,
    /// What the field has.
    pub(super) has: &'static str,
    /// The file.
    pub(super) text: Vec<u8>,
    /// Whether kubectl, the command and a server work with it.
    pub(super) works: [bool; 3],
    /// Why they differ; empty where they do not.
    pub(super) why: &'static str,
}

const FILES: &str = "A server reads no files: `kubeconfigs.files` allows it";

/// All do the same.
pub(super) fn same(field: &'static str, has: &'static str, text: impl Into<Vec<u8>>, works: bool) -> Case {
    Case { field, has, text: text.into(), works: [works; 3], why: "" }
}

/// A file is read by kubectl and the command.
pub(super) fn reads(field: &'static str, has: &'static str, text: String) -> Case {
    Case { field, has, text: text.into(), works: [true, true, false], why: FILES }
}

/// kubectl works with it, and others do not.
pub(super) fn kubectl_alone(
    field: &'static str,
    has: &'static str,
    text: impl Into<Vec<u8>>,
    why: &'static str,
) -> Case {
    Case { field, has, text: text.into(), works: [true, false, false], why }
}

/// A cluster, and an administrator of it by a certificate and by a token.
pub(super) struct Kit {
    pub(super) server: String,
    /// PEM.
    pub(super) authority: String,
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) token: String,
    /// The name that a case may impersonate.
    pub(super) home: String,
}

impl Kit {
    pub(super) fn new(environment: &Environment, user: &User) -> Self {
        let [cluster] = environment.clusters() else { panic!("one cluster is needed") };
        let identity = cluster.issue("administrator", &["system:masters"]).unwrap();
        let kit = Self {
            server: cluster.url(),
            authority: cluster.certificate_authority(),
            certificate: identity.certificate().to_owned(),
            key: identity.key().to_owned(),
            token: token(cluster),
            home: user.home().display().to_string(),
        };
        user.write("ca.crt", &kit.authority);
        user.write("admin.crt", &kit.certificate);
        user.write("admin.key", &kit.key);
        user.write("two-lines", &format!("{0}\n{0}\n", kit.token));
        user.write("token", &format!("{}\n", kit.token));
        kit
    }

    /// A kubeconfig with these lines in its cluster, its user and at its end.
    pub(super) fn file(&self, cluster: &str, user: &str, end: &str) -> String {
        let indented = |lines: &str| lines.lines().map(|line| format!("    {line}\n")).collect::<String>();
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
             clusters:\n- name: c\n  cluster:\n{}users:\n- name: u\n  user:\n{}{end}",
            indented(cluster),
            indented(user)
        )
    }

    /// A good kubeconfig with a certificate, and these lines beside it.
    pub(super) fn with_certificate(&self, more: &str) -> String {
        self.file(&self.cluster(), &format!("{}{more}", self.identity()), "")
    }

    /// The same with a token.
    pub(super) fn with_token(&self, more: &str) -> String {
        self.file(&self.cluster(), &format!("token: {}\n{more}", self.token), "")
    }

    /// A good kubeconfig with these lines in its cluster.
    pub(super) fn in_cluster(&self, lines: &str) -> String {
        self.file(lines, &self.identity(), "")
    }

    /// The same beside the lines that are there.
    pub(super) fn beside_cluster(&self, more: &str) -> String {
        self.in_cluster(&format!("{}{more}", self.cluster()))
    }

    /// The lines of the cluster.
    pub(super) fn cluster(&self) -> String {
        format!("server: {}\ncertificate-authority-data: {}\n", self.server, encoded(&self.authority))
    }

    /// The lines of the user.
    pub(super) fn identity(&self) -> String {
        identity(&encoded(&self.certificate), &encoded(&self.key))
    }
}

pub(super) fn identity(certificate: &str, key: &str) -> String {
    format!("client-certificate-data: {certificate}\nclient-key-data: {key}\n")
}

pub(super) fn encoded(pem: &str) -> String {
    STANDARD.encode(pem)
}

/// Base64 as a block of lines.
pub(super) fn wrapped(pem: &str) -> String {
    format!("|\n  {}", lines(pem).join("\n  "))
}

/// Base64 as one plain scalar over several lines, which has a space for each of their ends.
pub(super) fn folded(pem: &str) -> String {
    lines(pem).join("\n  ")
}

fn lines(pem: &str) -> Vec<String> {
    let base64 = encoded(pem);
    base64.as_bytes().chunks(76).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
}

/// A token of a ServiceAccount that may do everything. Another test may have made it.
fn token(cluster: &Cluster) -> String {
    let account = ["create", "serviceaccount", "administrator", "--namespace=default"];
    let may = ["--clusterrole=cluster-admin", "--serviceaccount=default:administrator"];
    let binding = [&["create", "clusterrolebinding", "administrator"][..], &may].concat();
    for arguments in [&account[..], &binding] {
        cluster.kubectl().args(arguments).output().unwrap();
    }
    said(cluster.kubectl().args(["create", "token", "administrator", "--namespace=default"]))
        .trim()
        .to_owned()
}
