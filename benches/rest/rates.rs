//! Reads and writes a second, each beside the handler that does nothing, in turn.

use std::time::Duration;

use anyhow::Result;
use dcm_benches::size::Size;
use dcm_benches::usage;
use dcm_store::encrypted::KeyFile;

use super::load::{self, Load, Until};
use super::requests::{Kind, furnish};
use super::servers::{Served, Server};

/// How often each is measured.
const ROUNDS: usize = 5;

/// For how long each time.
const TIME: Duration = Duration::from_secs(2);

/// How many requests are sent each time at the smallest size, to the handler that does nothing and to the API. CPU time is counted in
/// ticks of 10 ms, and each takes some of them.
const REQUESTS_SMALLEST: [u64; 2] = [10_000, 500];

/// Stores by the beginnings of their keys, the documented one first, with their names.
pub(crate) const STORES: [(&str, &str); 2] = [("", "SQLite"), ("memory_", "memory")];

/// Kinds by the beginnings of their keys, with their names, and what each is beside.
pub(crate) const KINDS: [(Kind, &str, &str, Kind); 4] = [
    (Kind::GetCloud, "get", "GET a logical cloud", Kind::EmptyGet),
    (Kind::GetProject, "get_project", "GET a project", Kind::EmptyGet),
    (Kind::PostProject, "post", "POST a project", Kind::EmptyPost),
    (Kind::PutCloud, "put", "PUT a logical cloud", Kind::EmptyPost),
];

/// One measurement of a server.
pub(crate) struct Rate {
    pub(crate) load: Load,
    /// CPU time of the server for a request, in microseconds.
    pub(crate) cpu_us: f64,
}

/// A kind of request on a kind of store, each round with what was measured beside it.
pub(crate) struct Rates {
    pub(crate) store: usize,
    pub(crate) kind: usize,
    pub(crate) rounds: Vec<[Rate; 2]>,
}

pub(crate) async fn run(size: Size) -> Result<Vec<Rates>> {
    let [to_empty, to_own] = size.of([TIME; 2].map(Until::Elapsed), REQUESTS_SMALLEST.map(Until::Sent));
    let empty = Server::start(&Served::Nothing).await?;
    let folder = tempfile::tempdir()?;
    let keys = folder.path().join("keys").display().to_string();
    KeyFile::open_or_create(&keys)?;
    let file = format!("sqlite:{}", folder.path().join("store.db").display());
    let mut all = Vec::new();
    for (store, url) in [file, "memory:".to_owned()].into_iter().enumerate() {
        let server = Server::start(&Served::Api { store: url, keys: keys.clone() }).await?;
        furnish(&server).await?;
        for (place, (kind, _, about, beside)) in KINDS.into_iter().enumerate() {
            eprintln!("{}: {about}", STORES[store].1);
            let mut rounds = Vec::new();
            for _ in 0..size.of(ROUNDS, 1) {
                rounds.push([rate(&empty, beside, &to_empty).await?, rate(&server, kind, &to_own).await?]);
            }
            all.push(Rates { store, kind: place, rounds });
        }
    }
    Ok(all)
}

async fn rate(server: &Server, kind: Kind, until: &Until) -> Result<Rate> {
    let before = usage::cpu_of(server.id()?)?;
    let load = load::run(server.address, kind, until.clone()).await?;
    let cpu = usage::cpu_of(server.id()?)? - before;
    let cpu_us = cpu.as_secs_f64() * 1e6 / load.milliseconds.len() as f64;
    Ok(Rate { load, cpu_us })
}
