//! etcd: one for all API servers of an environment, each with a key prefix of its own.

use std::net::SocketAddr;
use std::path::Path;

use super::file_flag;
use crate::process::Launch;

pub(crate) fn launch(executable: &Path, folder: &Path, clients: SocketAddr, peers: SocketAddr) -> Launch {
    let arguments = vec![
        "--name=testenv".to_owned(),
        file_flag("data-dir", &folder.join("etcd-data")),
        format!("--listen-client-urls=http://{clients}"),
        format!("--advertise-client-urls=http://{clients}"),
        format!("--listen-peer-urls=http://{peers}"),
        format!("--initial-advertise-peer-urls=http://{peers}"),
        format!("--initial-cluster=testenv=http://{peers}"),
        // Its data never outlives the process; a crash of the machine need not be survived.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    Launch { program: "etcd", executable: executable.to_owned(), arguments, log: folder.join("etcd.log") }
}
