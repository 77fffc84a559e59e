//! A store of one's own, used like any other: what was written is there when it is opened again.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod journal;

use anyhow::Context as _;
use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use journal::JournalStore;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (file, path) = (folder.path().join("journal"), Path::new("projects/p1")?);
    let store = JournalStore::open(&file)?;
    let document = Document::from_value(&serde_json::json!({ "description": "ours" }))?;
    store.write_one(Write::Create { path: path.clone(), document }).await?;
    drop(store);

    let entry = JournalStore::open(&file)?.get(&path).await?.context("it is gone")?;
    println!("{} in version {}: {}", entry.path, entry.version.0, entry.document.as_str());
    Ok(())
}
