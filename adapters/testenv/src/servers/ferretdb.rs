//! FerretDB: the MongoDB wire protocol over SQLite.

use std::net::SocketAddr;
use std::path::Path;

use super::{TlsFiles, make_folder};
use crate::Error;
use crate::process::Launch;

/// Without files for it, it speaks in clear.
pub(crate) fn launch(
    executable: &Path,
    folder: &Path,
    clients: SocketAddr,
    tls: Option<&TlsFiles>,
) -> Result<Launch, Error> {
    let databases = folder.join("databases");
    make_folder(&databases)?;
    let mut arguments = vec![format!("-listen={clients}"), format!("-folder={}", databases.display())];
    if let Some(TlsFiles { certificate, key, .. }) = tls {
        arguments.push(format!("-certificate={}", certificate.display()));
        arguments.push(format!("-key={}", key.display()));
    }
    let log = folder.join("mongodb-wire.log");
    Ok(Launch { program: "mongodb-wire", executable: executable.to_owned(), arguments, log })
}
