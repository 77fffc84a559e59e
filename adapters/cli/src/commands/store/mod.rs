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
    /// Looks whether all documents can be read, and fit together. No document is changed.
    ///
    /// It verifies the MAC of each document, so it finds those that were changed or moved without the store's keys. It finds documents
    /// and secrets that can't be read, what is named and not there, and what nothing names any more, with what
    /// clears that. Workers may go on meanwhile: what seems wrong is looked at once more after some seconds, and is told only when
    /// nothing that it follows from has changed. A process that stands still for longer in the middle of a change looks like one
    /// that was cut off. What somebody has to look after ends with code 5; there is no repair, as only a copy of the store knows
    /// what was there.
    Check,
    /// Writes all documents of the store, as a stream of lines that any other store can import.
    ///
    /// Secrets in it are encrypted, and documents have their MAC, as they are in the store: an import of it needs the same keys to be
    /// used. It holds what the
    /// store has while it is read: end the workers first. Where app contexts have a store of their own (--contexts-store),
    /// that one is exported by naming it as --store. It ends at a document that can't be read: `dcm store check` names all of them.
    Export(export::Arguments),
    /// Makes all documents of an export in the store. Nothing is written over.
    ///
    /// What is there already with the same content is left, so an import that was cut off goes on when it is begun again.
    /// With other content it ends there. Which keys the store is used with is found out anew, by the documents in it. A document
    /// without a MAC is imported, and can't be read then.
    Import(import::Arguments),
    /// Makes a new key, and encrypts all secrets and signs all documents in the store with it. Workers with the same key file go on
    /// meanwhile.
    ///
    /// Those with a copy of it, or with DCM_KEYS, use the earlier key until they have the new one, too, and can't read what is
    /// written with it. A document that can't be read is not signed, and keeps no other from being written anew. It may be cut off and begun again;
    /// earlier keys stay in the key file until they are forgotten.
    Rekey(rekey::Arguments),
    /// Makes a file with a new key, for a store that is to be: where nobody can make one in the place where it is used, such as a
    /// secret of Kubernetes.
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
