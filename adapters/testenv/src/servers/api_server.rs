//! kube-apiserver: with authorities, a service-account key and an issuer that no other server knows.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{file_flag, write};
use crate::Error;
use crate::audit;
use crate::certificates::{self, Authority};
use crate::process::Launch;

/// What a certificate of the API server must be valid for.
const SERVING_NAMES: [&str; 5] =
    ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// The group that may do everything.
pub(crate) const ADMINISTRATORS: &str = "system:masters";

/// The authorities of an API server, and the files that it and its controller manager read.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) clients: Authority,
    pub(crate) serving: Authority,
    pub(crate) client_authority_file: PathBuf,
    pub(crate) signer_file: PathBuf,
    pub(crate) signer_key_file: PathBuf,
    pub(crate) serving_authority_file: PathBuf,
    pub(crate) service_account_key_file: PathBuf,
    serving_file: PathBuf,
    serving_key_file: PathBuf,
    service_account_public_file: PathBuf,
    audit_policy_file: PathBuf,
}

impl Keys {
    /// Makes everything anew and writes it into the folder of the cluster.
    pub(crate) fn generate(name: &str, folder: &Path, audit_bodies: bool) -> Result<Self, Error> {
        let clients = Authority::generate(&format!("{name} clients"))?;
        let serving = Authority::generate(&format!("{name} servers"))?;
        let server = serving.issue_server("kube-apiserver", &SERVING_NAMES)?;
        let service_account = certificates::generate_key("service accounts")?;
        let put = |file: &str, content: &str| write(folder, file, content);
        Ok(Self {
            client_authority_file: put("client-ca.crt", &clients.certificate())?,
            signer_file: put("signer-ca.crt", &clients.certificate())?,
            signer_key_file: put("signer-ca.key", &clients.key())?,
            serving_authority_file: put("serving-ca.crt", &serving.certificate())?,
            serving_file: put("serving.crt", server.certificate())?,
            serving_key_file: put("serving.key", server.key())?,
            service_account_key_file: put("service-account.key", &service_account.serialize_pem())?,
            service_account_public_file: put("service-account.pub", &service_account.public_key_pem())?,
            audit_policy_file: put("audit-policy.yaml", &audit::policy(audit_bodies))?,
            clients,
            serving,
        })
    }
}

impl Keys {
    /// Writes another authority for the controller manager to sign with, and returns its certificate.
    pub(crate) fn replace_signer(&self) -> Result<String, Error> {
        let signer = Authority::generate("another signer")?;
        overwrite(&self.signer_file, &signer.certificate())?;
        overwrite(&self.signer_key_file, &signer.key())?;
        Ok(signer.certificate())
    }

    /// Writes another key for tokens to be signed and checked with.
    pub(crate) fn replace_token_key(&self) -> Result<(), Error> {
        let key = certificates::generate_key("service accounts")?;
        overwrite(&self.service_account_key_file, &key.serialize_pem())?;
        overwrite(&self.service_account_public_file, &key.public_key_pem())
    }

    /// Writes the authorities whose client certificates are accepted: the cluster's own, and these.
    pub(crate) fn trust_clients_of(&self, authorities: &str) -> Result<(), Error> {
        overwrite(&self.client_authority_file, &format!("{}{authorities}", self.clients.certificate()))
    }
}

fn overwrite(file: &Path, content: &str) -> Result<(), Error> {
    fs::write(file, content).map_err(|source| Error::Write { path: file.to_owned(), source })
}

/// Where an API server listens, and what it stores in.
pub(crate) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) address: SocketAddr,
    pub(crate) etcd: SocketAddr,
    pub(crate) audit_log: &'a Path,
}

pub(crate) fn launch(executable: &Path, place: &Place<'_>, keys: &Keys) -> Launch {
    let Place { name, folder, address, etcd, audit_log } = place;
    let mut arguments = vec![
        format!("--bind-address={}", address.ip()),
        format!("--secure-port={}", address.port()),
        format!("--etcd-servers=http://{etcd}"),
        // With the port: an earlier try with the same name may have left something.
        format!("--etcd-prefix=/{name}-{}", address.port()),
        format!("--service-account-issuer=https://{name}.testenv.invalid"),
    ];
    arguments.extend([
        file_flag("tls-cert-file", &keys.serving_file),
        file_flag("tls-private-key-file", &keys.serving_key_file),
        file_flag("client-ca-file", &keys.client_authority_file),
        file_flag("service-account-key-file", &keys.service_account_public_file),
        file_flag("service-account-signing-key-file", &keys.service_account_key_file),
        file_flag("cert-dir", &folder.join("generated")),
        file_flag("audit-policy-file", &keys.audit_policy_file),
        file_flag("audit-log-path", audit_log),
    ]);
    arguments.extend(COMMON.map(str::to_owned));
    let log = folder.join("kube-apiserver.log");
    Launch { program: "kube-apiserver", executable: executable.to_owned(), arguments, log }
}

/// The same for every API server.
const COMMON: [&str; 11] = [
    "--authorization-mode=Node,RBAC",
    // As installers set it: what may be privileged is decided in each namespace.
    "--allow-privileged=true",
    "--service-cluster-ip-range=10.0.0.0/24",
    // There is no token for pods, and there are no pods that would run.
    "--disable-admission-plugins=ServiceAccount",
    // An answer is not finished before its event is in the file, and the file stays one file.
    "--audit-log-mode=blocking",
    "--audit-log-maxsize=0",
    // Nobody reaches the API server as a service inside of the cluster.
    "--endpoint-reconciler-type=none",
    // All of them share one etcd: none may compact away what another still watches, and nobody reads the figures.
    "--etcd-compaction-interval=0",
    "--etcd-count-metric-poll-period=0",
    "--etcd-db-metric-poll-interval=0",
    "--profiling=false",
];
