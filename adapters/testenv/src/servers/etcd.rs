//! etcd: one for all API servers of an environment, each with a key prefix of its own, or one on its own.

use std::net::SocketAddr;
use std::path::Path;

use super::{TlsFiles, file_flag};
use crate::process::Launch;

/// Where etcd listens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) clients: SocketAddr,
    pub(crate) peers: SocketAddr,
}

/// Without files for it, it speaks in clear.
pub(crate) fn launch(
    executable: &Path,
    folder: &Path,
    Addresses { clients, peers }: Addresses,
    tls: Option<&TlsFiles>,
) -> Launch {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut arguments = vec![
        "--name=testenv".to_owned(),
        file_flag("data-dir", &folder.join("etcd-data")),
        format!("--listen-client-urls={scheme}://{clients}"),
        format!("--advertise-client-urls={scheme}://{clients}"),
        format!("--listen-peer-urls=http://{peers}"),
        format!("--initial-advertise-peer-urls=http://{peers}"),
        format!("--initial-cluster=testenv=http://{peers}"),
        // Its data never outlives the process; a crash of the machine need not be survived.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    if let Some(TlsFiles { authority, certificate, key }) = tls {
        arguments.extend([
            file_flag("cert-file", certificate),
            file_flag("key-file", key),
            file_flag("trusted-ca-file", authority),
            "--client-cert-auth".to_owned(),
        ]);
    }
    Launch { program: "etcd", executable: executable.to_owned(), arguments, log: folder.join("etcd.log") }
}
