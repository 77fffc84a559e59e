//! Writing a desired state: claims and manifests first, the root last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{AppContext, Bundle, Generation};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::in_order::{Conflict, InOrder};
use dcm_core::port::store::{self, Document, Entry, Path, Store, StoreExt, Version, Write};
use dcm_core::port::synchronizer::Error;
use dcm_core::status::Intent;

use super::claims::{self, Named};
use super::{Contexts, fitting};
use crate::record::{self, Root, path};

/// The root that follows the current one when a context is applied.
pub(super) fn next_root(context: &AppContext, current: &Root, generation: Generation) -> Root {
    Root {
        begun: if current.is_unused() { generation } else { current.begun },
        attempt: if current.is_unused() { current.attempt } else { current.attempt + 1 },
        overrules: current.overrules,
        withdraws: current.withdraws,
        without_results: current.without_results,
        ..Root::of(context, generation)
    }
}

impl Contexts {
    /// Makes the root of a context that nobody has heard of. It wants nothing yet: whoever claims something has a root that
    /// others must have left alone when he writes it again.
    pub(super) async fn begin(&self, context: &AppContext, unused: &Root) -> Result<Version, Error> {
        root_document(&Root::of(context, Generation::default()))?;
        let version = self.swap(path::root(&context.id), None, unused).await?;
        version.ok_or_else(|| contended(context))
    }

    /// Writes claims, manifests and, last, the root, and gives its generation.
    pub(super) async fn commit(
        &self,
        context: &AppContext,
        current: &Root,
        version: Version,
        next: Root,
    ) -> Result<Generation, Error> {
        let id = &context.id;
        let stored = self.store.list_all(&path::manifests(id)).await?;
        let manifests = manifests_of(current, &stored)?;
        fitting::check_change(context, current, &manifests)?;
        let named = claims::named(current, &manifests);
        let held = if current.intent == Intent::Present { named.clone() } else { Named::new() };
        let mut claimed = named;
        claims::join(&mut claimed, self.leaving(id, current).await?);
        let left = self.claiming(id).await?;
        if let Some((left, _)) = &left {
            claims::join(&mut claimed, left.namespaces.clone());
        }
        let next = Root { leaving: claims::leaving(claimed, context), ..next };
        let document = root_document(&next)?;
        let wanted = claims::wanted(context, &held);
        let mut writes = claims::writes(id, next.generation, &wanted)?;
        let unused = plan_manifests(context, &stored, &current.manifests().collect(), &mut writes)?;
        writes.push(Write::Update { path: path::root(id), version, document });
        writes.extend(unused);
        let mut writes = InOrder::new(writes);
        let remembered = self.remember_claims(id, wanted.clone(), left, &writes).await?;
        if let Some(version) = remembered {
            // Another apply may have begun meanwhile: that one knows of all, and its word stays.
            writes.then(Write::Delete { path: path::claiming(id), version });
        }
        let result = self.write_in_order(context, writes).await;
        if matches!(result, Err(Error::NamespaceTaken { .. })) {
            self.give_claims_back(id, &wanted, remembered).await?;
            if current.is_unused() {
                self.delete_all(vec![Write::Delete { path: path::root(id), version }]).await?;
            }
        }
        result.map(|()| next.generation)
    }

    /// Writes the manifests of a context that are missing: without them no worker could do anything.
    pub(super) async fn complete_manifests(&self, context: &AppContext) -> Result<(), Error> {
        let mut missing = distinct_manifests(&context.placements);
        for entry in self.store.list_all(&path::manifests(&context.id)).await? {
            path::hash_of_manifest(&entry.path).map(|hash| missing.remove(&hash));
        }
        let mut writes = Vec::new();
        for (hash, manifest) in missing {
            let document = record::manifest_document(&manifest)?;
            writes.push(put(path::manifest(&context.id, hash), None, document));
        }
        self.write_in_order(context, InOrder::new(writes)).await
    }

    /// Applies the writes in order, in as few batches as the limits allow.
    async fn write_in_order(&self, context: &AppContext, mut writes: InOrder) -> Result<(), Error> {
        let mut conflicts = BTreeSet::new();
        while let Some(conflict) = writes.go_on(&*self.store).await? {
            if !conflicts.insert(conflict.write.path().clone()) {
                return Err(contended(context));
            }
            if let Some(write) = self.instead(context, &conflict).await? {
                writes.instead(&conflict, write);
            }
        }
        Ok(())
    }

    /// What to write instead of what found another version: our own claim and a manifest are written again, as
    /// somebody may be about to delete them as they are. A deletion is left out.
    async fn instead(&self, context: &AppContext, conflict: &Conflict) -> Result<Option<Write>, Error> {
        let (path, document) = match &conflict.write {
            Write::Delete { .. } => return Ok(None),
            Write::Create { path, document } | Write::Update { path, document, .. } => (path, document),
        };
        if *path == path::root(&context.id) {
            return Err(contended(context));
        }
        let found = match path::is_claim(path) {
            true => Some(self.own_claim_version(context, path, document).await?),
            false => conflict.found,
        };
        Ok(Some(put(path.clone(), found, document.clone())))
    }

    /// Applies deletions; what is gone already, or was written again, is passed over.
    pub(super) async fn delete_all(&self, deletions: Vec<Write>) -> Result<Deleted, Error> {
        let (mut deletions, mut deleted) = (InOrder::new(deletions), Deleted::Gone);
        while let Some(conflict) = deletions.go_on(&*self.store).await? {
            if conflict.found.is_some() {
                deleted = Deleted::Changed;
            }
        }
        Ok(deleted)
    }
}

/// What became of documents that were to be deleted as they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deleted {
    Gone,
    /// Somebody else has changed one.
    Changed,
}

/// The document of a root. One that is too large is refused for good: it would be so again.
fn root_document(root: &Root) -> Result<Document, Error> {
    Document::from_value(root).map_err(|error| match error {
        store::Error::Invalid { reason } => {
            Error::Invalid { reason: format!("the record of an app context is too large: {reason}") }
        }
        other => other.into(),
    })
}

/// Adds the manifests that are to be written; gives the deletions of those that are no longer used.
///
/// Those that are stored and that the current root does not name are written again: an apply before us, or a `forget`,
/// may still be about to delete them as it found them.
fn plan_manifests(
    context: &AppContext,
    stored: &[Entry],
    named: &BTreeSet<ContentHash>,
    writes: &mut Vec<Write>,
) -> Result<Vec<Write>, Error> {
    let wanted = distinct_manifests(&context.placements);
    let mut versions = BTreeMap::new();
    let mut unused = Vec::new();
    for entry in stored {
        match path::hash_of_manifest(&entry.path).filter(|hash| wanted.contains_key(hash)) {
            Some(hash) => drop(versions.insert(hash, entry.version)),
            None => unused.push(deletion(entry)),
        }
    }
    for (hash, manifest) in wanted {
        let version = versions.get(&hash).copied();
        if version.is_none() || !named.contains(&hash) {
            let document = record::manifest_document(&manifest)?;
            writes.push(put(path::manifest(&context.id, hash), version, document));
        }
    }
    Ok(unused)
}

/// The deletion of a document as it was read.
pub(super) fn deletion(entry: &Entry) -> Write {
    Write::Delete { path: entry.path.clone(), version: entry.version }
}

/// The write that makes a document, or replaces the one that has this version.
pub(super) fn put(path: Path, version: Option<Version>, document: Document) -> Write {
    match version {
        Some(version) => Write::Update { path, version, document },
        None => Write::Create { path, document },
    }
}

fn contended(context: &AppContext) -> Error {
    Error::Contended { id: context.id.clone() }
}

fn distinct_manifests(placements: &BTreeMap<ClusterId, Arc<Bundle>>) -> BTreeMap<ContentHash, Manifest> {
    let mut seen = BTreeSet::new();
    let bundles = placements.values().filter(|bundle| seen.insert(bundle.hash()));
    let manifests = bundles.flat_map(|bundle| bundle.manifests());
    manifests.map(|manifest| (manifest.hash(), manifest.clone())).collect()
}

/// The manifests that a root names, of those that are stored.
pub(super) fn manifests_of(
    root: &Root,
    stored: &[Entry],
) -> Result<BTreeMap<ContentHash, Manifest>, store::Error> {
    let named: BTreeSet<ContentHash> = root.manifests().collect();
    let hashes = stored.iter().filter_map(|entry| Some((path::hash_of_manifest(&entry.path)?, entry)));
    let named = hashes.filter(|(hash, _)| named.contains(hash));
    named.map(|(hash, entry)| Ok((hash, record::read_manifest(entry)?))).collect()
}

/// Reads a context's manifests.
pub(super) async fn manifests(
    store: &dyn Store,
    id: &ContextId,
) -> Result<BTreeMap<ContentHash, Manifest>, store::Error> {
    let mut manifests = BTreeMap::new();
    for entry in store.list_all(&path::manifests(id)).await? {
        let manifest = record::read_manifest(&entry)?;
        manifests.insert(manifest.hash(), manifest);
    }
    Ok(manifests)
}
