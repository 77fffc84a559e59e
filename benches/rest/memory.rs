//! Memory of a server over many requests.

use anyhow::Result;
use dcm_benches::usage;
use dcm_store::encrypted::KeyFile;

use super::load::{self, Until};
use super::requests::{Kind, furnish};
use super::servers::{Served, Server};

/// What a server had of memory, in bytes.
pub(crate) struct Memory {
    pub(crate) requests: u64,
    /// After a tenth of the requests: all that is made once is made by then.
    pub(crate) tenth: u64,
    /// After all of them.
    pub(crate) whole: u64,
}

pub(crate) async fn run(requests: u64) -> Result<Memory> {
    let folder = tempfile::tempdir()?;
    let keys = folder.path().join("keys").display().to_string();
    KeyFile::open_or_create(&keys)?;
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let server = Server::start(&Served::Api { store, keys }).await?;
    furnish(&server).await?;
    let mut resident = [0; 2];
    for (resident, sent) in resident.iter_mut().zip([requests / 10, requests - requests / 10]) {
        eprintln!("memory over {sent} requests");
        load::run(server.address, Kind::Mixed, Until::Sent(sent)).await?;
        *resident = usage::resident_bytes_of(server.id()?)?;
    }
    Ok(Memory { requests, tenth: resident[0], whole: resident[1] })
}
