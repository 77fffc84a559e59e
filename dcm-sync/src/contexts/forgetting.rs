//! Forgetting a context that is removed.
//!
//! The root says first that it is being forgotten. Whoever applies the context meanwhile finishes that and takes the
//! mark off before writing anything; so what was listed while the mark stood is never part of a later desired state.

use dcm_core::name::ContextId;
use dcm_core::port::store::{self, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::Error;
use dcm_core::status::{Intent, Progress};

use super::{CONTENTION_TRIES, Contexts, deletion};
use crate::record::{Root, path};

impl Contexts {
    /// Deletes all records of a context that is removed.
    pub(super) async fn forget_removed(&self, id: &ContextId) -> Result<(), Error> {
        let Some((root, version)) = self.root(id).await? else { return Ok(()) };
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
        self.clear(id, &root, version).await?;
        // The root goes last: until then a crash leaves a context that can be forgotten again.
        match self.store.write_one(Write::Delete { path: path::root(id), version }).await {
            Ok(_) | Err(store::Error::Conflict { found: None, .. }) => Ok(()),
            Err(store::Error::Conflict { .. }) => Err(contended()),
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
            let empty = Root {
                forgetting: false,
                bundles: Default::default(),
                placements: Default::default(),
                ..root
            };
            if let Some(version) = self.replace_root(id, version, &empty).await? {
                return Ok(Some((empty, version)));
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    /// Deletes what belongs to a root that is marked, if it is still so when all was listed.
    async fn clear(&self, id: &ContextId, root: &Root, marked: Version) -> Result<(), Error> {
        let mut deletions = self.claims_of(id, root).await?;
        for prefix in [path::results(id), path::lanes(id), path::manifests(id)] {
            deletions.extend(self.store.list_all(&prefix).await?.iter().map(deletion));
        }
        match self.root(id).await? {
            Some((_, version)) if version == marked => self.delete_all(deletions).await,
            _ => Ok(()),
        }
    }
}
