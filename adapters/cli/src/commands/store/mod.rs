//! `dcm store`: what operators do with a store itself.

mod check;
mod export;
mod import;
mod new_keys;
mod rekey;

use crate::arguments::Global;
use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Checks that all documents can be read and fit together, without changing any.
    ///
    /// It verifies the MAC of each document, and so detects documents that were changed or moved without the store's keys. It
    /// reports documents and secrets that can't be read, references to missing documents, and documents that nothing refers to,
    /// with the remedy. Workers may run meanwhile: each finding is looked at again after some seconds, and reported if nothing it
    /// depends on has changed. A process that stands still for longer in the middle of a change looks like an interrupted one.
    /// Findings that require action end with exit code 5. Restore a copy of the store to repair them.
    Check,
    /// Exports all documents of the store as lines that every kind of store can import.
    ///
    /// Secrets stay encrypted, and documents keep their MAC: the store that imports them needs the same keys. Stop the workers first,
    /// so that the export is one state of the store. Export a store of app contexts (--contexts-store) by naming it as --store.
    /// The export fails at a document that can't be read; `dcm store check` lists all of them.
    Export(export::Arguments),
    /// Imports the documents of an export, without overwriting any.
    ///
    /// Documents that exist with the same content are skipped, so you can repeat an interrupted import. At a document with other
    /// content the import fails. The keys of the store are recognised anew by its documents. A document without a MAC is imported,
    /// and can't be read.
    Import(import::Arguments),
    /// Makes a new key, and encrypts all secrets and signs all documents of the store with it.
    ///
    /// Workers with the same key file may run meanwhile. Workers with a copy of it, or with DCM_KEYS, use the earlier key until they
    /// get the new one, and can't read documents that are written with it. Documents that can't be read are skipped. You can
    /// repeat an interrupted rekey; earlier keys stay in the key file until --forget-earlier.
    Rekey(rekey::Arguments),
    /// Creates a key file for a new store, for example for a Secret of Kubernetes.
    NewKeys(new_keys::Arguments),
}

pub(crate) async fn run(global: &Global, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check => check::run(global).await,
        Command::Export(arguments) => export::run(global, arguments).await,
        Command::Import(arguments) => import::run(global, arguments).await,
        Command::NewKeys(arguments) => new_keys::run(arguments),
        Command::Rekey(arguments) => rekey::run(global, arguments).await,
    }
}
