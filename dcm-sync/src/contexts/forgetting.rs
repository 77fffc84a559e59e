//! Forgetting a context that is removed.
//!
//! The root says first that it is being forgotten. Whoever applies the context meanwhile finishes that and takes the
//! mark off before writing anything; so what was listed while the mark stood is never part of a later desired state.
//!
//! Where clusters were abandoned, their lanes stay, with the claims on what may be left there, and so does the root: it
//! says that it is forgotten, and nobody sees it but the workers, who clear those clusters when that is possible.

use std::collections::BTreeSet;

use dcm_core::name::ContextId;
use dcm_core::port::store::{self, Path, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::Error;
use dcm_core::status::{Intent, Progress};

use super::{CONTENTION_TRIES, Contexts, deletion};
use crate::record::{Root, path};

impl Contexts {
    /// Deletes all records of a context that is removed.
    pub(super) async fn forget_removed(&self, id: &ContextId) -> Result<(), Error> {
        let Some((root, version)) = self.known_root(id).await? else { return Ok(()) };
        match self.progress(id).await? {
            // Somebody else has forgotten it.
            None => return Ok(()),
            Some(Progress::Done) if root.intent == Intent::Absent => {}
            Some(_) => return Err(Error::NotRemoved { id: id.clone() }),
        }
        let contended = || Error::Contended { id: id.clone() };
        let version = match root.forgetting {
            true => version,
            false => {
                let marked = Root { forgetting: true, ..root.clone() };
                self.replace_root(id, version, &marked).await?.ok_or_else(contended)?
            }
        };
        if self.clear(id, &root, version).await? {
            let left = Root { forgotten: true, ..emptied(root) };
            return self.replace_root(id, version, &left).await?.map(drop).ok_or_else(contended);
        }
        // The root goes last: until then a crash leaves a context that can be forgotten again.
        match self.delete_root(id, version).await? {
            Deleted::Gone => Ok(()),
            Deleted::Changed => Err(contended()),
        }
    }

    /// Deletes what is left of a context that was forgotten, when none of its clusters is abandoned any more.
    pub(crate) async fn bury(&self, id: &ContextId) -> Result<(), Error> {
        let Some((root, version)) = self.root(id).await?.filter(|(root, _)| root.forgotten) else {
            return Ok(());
        };
        if self.tombstones_of(id).await?.is_empty() && !self.clear(id, &root, version).await? {
            // Whoever has applied it again meanwhile keeps it.
            self.delete_root(id, version).await?;
        }
        Ok(())
    }

    async fn delete_root(&self, id: &ContextId, version: Version) -> Result<Deleted, Error> {
        match self.store.write_one(Write::Delete { path: path::root(id), version }).await {
            Ok(_) | Err(store::Error::Conflict { found: None, .. }) => Ok(Deleted::Gone),
            Err(store::Error::Conflict { .. }) => Ok(Deleted::Changed),
            Err(error) => Err(error.into()),
        }
    }

    /// The root of a context that is to be applied. One that was being forgotten is so by now: an empty root is left,
    /// whose generation goes on.
    pub(super) async fn remembered(&self, id: &ContextId) -> Result<Option<(Root, Version)>, Error> {
        for _ in 0..CONTENTION_TRIES {
            let (root, version) = match self.root(id).await? {
                Some((root, version)) if root.forgetting => (root, version),
                found => return Ok(found),
            };
            self.clear(id, &root, version).await?;
            let empty = emptied(root);
            if let Some(version) = self.replace_root(id, version, &empty).await? {
                return Ok(Some((empty, version)));
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    /// Deletes what belongs to a root that is marked, if it is still so when all was listed, but for clusters that are
    /// abandoned; true when there are such.
    async fn clear(&self, id: &ContextId, root: &Root, marked: Version) -> Result<bool, Error> {
        let abandoned = self.tombstones_of(id).await?;
        let mut deletions = self.claims_of(id, root, &abandoned).await?;
        for prefix in [path::results(id), path::lanes(id), path::manifests(id)] {
            deletions.extend(self.store.list_all(&prefix).await?.iter().map(deletion));
        }
        let kept: BTreeSet<Path> = abandoned.iter().map(|cluster| path::lane(id, cluster)).collect();
        deletions.retain(|deletion| !kept.contains(deletion.path()));
        match self.root(id).await? {
            Some((_, version)) if version == marked => self.delete_all(deletions).await?,
            _ => {}
        }
        Ok(!abandoned.is_empty())
    }
}

/// What became of a root that was to be deleted.
enum Deleted {
    Gone,
    /// Somebody else has changed it.
    Changed,
}

/// A root that names nothing: its generations go on.
fn emptied(root: Root) -> Root {
    let (leaving, bundles, placements) = Default::default();
    Root { forgetting: false, leaving, bundles, placements, ..root }
}
