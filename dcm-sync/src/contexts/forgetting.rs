//! Forgetting a context that is removed.
//!
//! The root says first that it is being forgotten. Whoever applies the context meanwhile finishes that and takes the
//! mark off before writing anything; so what was listed while the mark stood is never part of a later desired state.
//!
//! Before anything is deleted, every worker has read the mark: one that is behind would bring about again what was wanted
//! before, and nobody would know of it.
//!
//! Where clusters were abandoned, their lanes stay, with the claims on what may be left there, and so does the root: it
//! says that it is forgotten, and nobody sees it but the workers, who clear those clusters when that is possible.

use std::collections::BTreeSet;

use dcm_core::app_context::Generation;
use dcm_core::name::ContextId;
use dcm_core::port::store::{Path, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::{Error, Removal};
use dcm_core::status::{Intent, Progress};

use super::writing::{Deleted, deletion};
use super::{CONTENTION_TRIES, Contexts};
use crate::record::{Forgotten, Root, path};

impl Contexts {
    /// Deletes all records of a context that is removed.
    pub(super) async fn forget_removed(&self, id: &ContextId) -> Result<(), Error> {
        match self.known_root(id).await? {
            Some((root, version)) => self.forget_root(id, root, version).await,
            None => self.clear_late(id).await,
        }
    }

    /// Deletes what came late of a context that is gone: from a worker whose session was ended, or an apply.
    async fn clear_late(&self, id: &ContextId) -> Result<(), Error> {
        let mut late = Vec::new();
        for prefix in [path::lanes(id), path::results(id), path::manifests(id)] {
            late.extend(self.store.list_all(&prefix).await?.iter().map(deletion));
        }
        if let Some((left, version)) = self.claiming(id).await? {
            late.extend(self.own_claims(id, &left.namespaces).await?);
            late.push(Write::Delete { path: path::claiming(id), version });
        }
        // Whoever has begun to apply it since writes what he needs anew.
        if self.root(id).await?.is_none() {
            self.delete_all(late).await?;
        }
        Ok(())
    }

    /// Removes a context that nobody asks about any more: whoever works on it forgets it when it is gone.
    pub(super) async fn discard_context(&self, id: &ContextId, removal: Removal) -> Result<(), Error> {
        for _ in 0..CONTENTION_TRIES {
            let Some((root, version)) = self.known_root(id).await? else {
                return self.clear_late(id).await;
            };
            let generation = if root.is_unused() { root.generation } else { root.generation.next() };
            let (intent, paused, forgotten) = (Intent::Absent, false, true);
            let planned = root.planned.none();
            let discarded = Root { intent, paused, forgotten, removal, generation, planned, ..root };
            if self.replace_root(id, version, &discarded).await?.is_some() {
                return Ok(());
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    /// Deletes all records of a context with this root, if it is removed.
    async fn forget_root(&self, id: &ContextId, root: Root, version: Version) -> Result<(), Error> {
        if root.intent == Intent::Present || self.progress(id, &root).await? != Progress::Done {
            return Err(Error::NotRemoved { id: id.clone() });
        }
        let contended = || Error::Contended { id: id.clone() };
        // Also where it is marked already: workers tell it anew with each version of the root.
        let marked = Root { forgetting: true, ..root.clone() };
        let version = self.replace_root(id, version, &marked).await?.ok_or_else(contended)?;
        // A worker that is behind may be about to bring about what was wanted before.
        match self.wait_until_read(id, version).await {
            Err(Error::Resumed) => return Err(contended()),
            read => read?,
        }
        let Some(is_left) = self.clear_while_removed(id, &root, version).await? else {
            let unmarked = Root { forgetting: false, ..root };
            self.replace_root(id, version, &unmarked).await?.ok_or_else(contended)?;
            return Err(Error::NotRemoved { id: id.clone() });
        };
        if is_left {
            // What is left is cleared also where somebody had paused the work.
            let left = Root { forgotten: true, paused: false, ..emptied(root) };
            return self.replace_root(id, version, &left).await?.map(drop).ok_or_else(contended);
        }
        // The root goes last: until then a crash leaves a context that can be forgotten again.
        match self.delete_root(id, &root, version).await? {
            Deleted::Gone => Ok(()),
            Deleted::Changed => Err(contended()),
        }
    }

    /// Deletes what is left of a context that was forgotten, when none of its clusters is abandoned any more.
    pub(crate) async fn bury(&self, id: &ContextId) -> Result<(), Error> {
        let Some((root, version)) = self.root(id).await?.filter(|(root, _)| root.forgotten) else {
            return Ok(());
        };
        if !self.tombstones_of(id).await?.is_empty() {
            return Ok(());
        }
        match self.forget_root(id, root, version).await {
            // Whoever removes the last of it comes here again.
            Err(Error::NotRemoved { .. }) => Ok(()),
            forgotten => forgotten,
        }
    }

    /// Clears what belongs to a marked root while its lanes say that it is removed, and tells whether abandoned clusters are
    /// left; none when it is not removed: then nothing but lanes that were has been cleared.
    async fn clear_while_removed(
        &self,
        id: &ContextId,
        root: &Root,
        marked: Version,
    ) -> Result<Option<bool>, Error> {
        for _ in 0..CONTENTION_TRIES {
            if self.progress(id, root).await? != Progress::Done {
                return Ok(None);
            }
            match self.clear(id, root, marked).await? {
                Cleared::Everything => return Ok(Some(false)),
                Cleared::AllButAbandoned => return Ok(Some(true)),
                Cleared::NotAll => {}
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    async fn delete_root(&self, id: &ContextId, root: &Root, version: Version) -> Result<Deleted, Error> {
        self.change_record(path::forgotten(), |forgotten: &mut Forgotten| forgotten.take(root)).await?;
        self.delete_all(vec![Write::Delete { path: path::root(id), version }]).await
    }

    /// The generation after that of a root; where nothing was wanted of its context yet, one that no forgotten one of its name
    /// had.
    pub(super) async fn next_generation(&self, current: &Root) -> Result<Generation, Error> {
        if !current.is_unused() {
            return Ok(current.generation.next());
        }
        Ok(self.forgotten().await?.generation.next())
    }

    /// The root of a context that has none yet.
    pub(super) async fn unused_root(&self, id: &ContextId) -> Result<Root, Error> {
        Ok(Root::unused(id, &self.forgotten().await?))
    }

    async fn forgotten(&self) -> Result<Forgotten, Error> {
        let found = self.read::<Forgotten>(&path::forgotten()).await?;
        Ok(found.map(|(forgotten, _)| forgotten).unwrap_or_default())
    }

    /// The root of a context that is to be applied. One that was being forgotten is so by now: an empty root is left,
    /// whose generation goes on.
    pub(super) async fn remembered(&self, id: &ContextId) -> Result<Option<(Root, Version)>, Error> {
        for _ in 0..CONTENTION_TRIES {
            let (root, version) = match self.root(id).await? {
                Some((root, version)) if root.forgetting => (root, version),
                found => return Ok(found),
            };
            let root = match self.clear_while_removed(id, &root, version).await? {
                Some(_) => emptied(root),
                // Whoever forgets it still waits for the workers, and has deleted nothing.
                None => Root { forgetting: false, ..root },
            };
            if let Some(version) = self.replace_root(id, version, &root).await? {
                return Ok(Some((root, version)));
            }
        }
        Err(Error::Contended { id: id.clone() })
    }

    /// Deletes what belongs to a root that is marked, if it is still so when all was listed, but for clusters that are
    /// abandoned. The lanes go first: a worker that has written one meanwhile still needs the rest. Then the claims, since the
    /// manifests and what was remembered tell which there are: an apply that has written one meanwhile may have written others.
    async fn clear(&self, id: &ContextId, root: &Root, marked: Version) -> Result<Cleared, Error> {
        let abandoned = self.tombstones_of(id).await?;
        let kept: BTreeSet<Path> = abandoned.iter().map(|cluster| path::lane(id, cluster)).collect();
        let lanes = self.store.list_all(&path::lanes(id)).await?;
        let lanes = lanes.iter().filter(|lane| !kept.contains(&lane.path)).map(deletion).collect();
        let claims = self.claims_of(id, root, &abandoned).await?;
        let mut rest = Vec::new();
        for prefix in [path::results(id), path::manifests(id)] {
            rest.extend(self.store.list_all(&prefix).await?.iter().map(deletion));
        }
        if let Some((_, version)) = self.claiming(id).await?.filter(|_| abandoned.is_empty()) {
            rest.push(Write::Delete { path: path::claiming(id), version });
        }
        if self.root(id).await?.is_some_and(|(_, version)| version == marked) {
            for first in [lanes, claims] {
                if self.delete_all(first).await? == Deleted::Changed {
                    return Ok(Cleared::NotAll);
                }
            }
            self.delete_all(rest).await?;
        }
        Ok(if abandoned.is_empty() { Cleared::Everything } else { Cleared::AllButAbandoned })
    }
}

/// How much of what belongs to a root was deleted.
#[derive(PartialEq, Eq)]
enum Cleared {
    Everything,
    AllButAbandoned,
    /// Somebody has written a lane, or a claim, meanwhile.
    NotAll,
}

/// A root that names nothing: its generations go on. Lanes of abandoned clusters may still name results that are gone.
fn emptied(root: Root) -> Root {
    let (leaving, placements) = Default::default();
    let without_results = Some(root.generation);
    Root { forgetting: false, without_results, leaving, placements, ..root }
}
