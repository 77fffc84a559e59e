//! A server with a thousand simulated clusters: the HTTP API and the status page as with real ones, and some of what can go wrong.
//! Nothing outside of this process is touched, and nothing stays.
//!
//! `cargo run -p dcm-examples --bin fleet` serves at `http://127.0.0.1:9077/ui/` until it is interrupted. Arguments: how many
//! clusters, the address, and a file of static tokens where callers are to prove who they are; `admin` is then a platform admin
//! and `viewer` one who sees the project `shop`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod trouble;
mod world;

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_server::{Access, AccessSettings, ApiListener, Listeners, serve_at};
use serde_json::json;

use world::World;

/// How many clusters the largest logical cloud is on.
const CLUSTERS: usize = 1000;

const ADDRESS: &str = "127.0.0.1:9077";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let clusters = arguments.next().map_or(Ok(CLUSTERS), |text| text.parse()).context("how many clusters")?;
    let address = arguments.next().unwrap_or(ADDRESS.to_owned()).parse().context("where to listen")?;
    let settings = settings(arguments.next().map(PathBuf::from))?;

    let world = World::build(clusters);
    let access = Access::open(&settings, world.deployment.clock())?;
    let listener = ApiListener::bind(address, &access).await?;
    println!("status page at {}/ui/", listener.url());
    let listeners = Listeners { api: Some(listener), ..Listeners::default() };
    let serving = serve_at(&world.deployment, listeners, async { drop(tokio::signal::ctrl_c().await) });
    let (served, filled) = tokio::join!(serving, async {
        let filled = world.fill().await;
        println!("{} clusters, all logical clouds are handed over", world.clusters());
        filled
    });
    filled?;
    Ok(served?)
}

/// Who may ask: anybody on this machine, or those who have a token.
fn settings(tokens: Option<PathBuf>) -> anyhow::Result<AccessSettings> {
    let Some(file) = tokens else { return Ok(AccessSettings::default()) };
    let roles = json!([
        {"role": "platform-admin", "users": ["admin"]},
        {"role": "project-viewer", "projects": ["shop"], "users": ["viewer"]},
    ]);
    Ok(AccessSettings {
        authentication: Some(serde_json::from_value(json!({"tokens": {"file": file}}))?),
        roles: serde_json::from_value(roles)?,
        ..AccessSettings::default()
    })
}
