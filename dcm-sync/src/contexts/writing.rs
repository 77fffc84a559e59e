//! Writing a desired state: claims and manifests first, the root last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, AppContext, Bundle, Generation};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{
    self, BATCH_WRITES_MAX, Document, Path, Prefix, Store, StoreExt, Version, Write,
};
use dcm_core::port::synchronizer::Error;

use super::{Contexts, claims};
use crate::record::{Root, path};

/// Most bytes of documents in one batch: etcd refuses larger requests.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The root that follows the current one when a context is applied.
pub(super) fn next_root(context: &AppContext, current: Option<&Root>) -> Root {
    let generation = current.map_or(Generation(1), |root| root.generation.next());
    let mut next = Root::of(context, generation);
    if let Some(current) = current {
        next.attempt = current.attempt + 1;
        next.removal = dcm_core::port::synchronizer::Removal::default();
    }
    next
}

impl Contexts {
    /// Writes claims, manifests and, last, the root.
    pub(super) async fn commit(
        &self,
        context: &AppContext,
        current: Option<&(Root, Version)>,
        next: &Root,
    ) -> Result<(), Error> {
        let mut writes = claims::wanted(context)?;
        let claimed = writes.len();
        let unused = self.plan_manifests(context, current.is_some(), &mut writes).await?;
        let document = Document::from_value(next)?;
        let root = path::root(&context.id);
        writes.push(match current {
            Some((_, version)) => Write::Update { path: root, version: *version, document },
            None => Write::Create { path: root, document },
        });
        writes.extend(unused);
        let result = self.write_in_batches(context, writes, claimed).await;
        if let Err(Error::NamespaceTaken { .. }) = &result {
            self.give_claims_back(context, current.map(|(root, _)| root)).await?;
        }
        result
    }

    /// Adds the manifests that are not stored yet; gives the deletions of those that are no longer used.
    async fn plan_manifests(
        &self,
        context: &AppContext,
        update: bool,
        writes: &mut Vec<Write>,
    ) -> Result<Vec<Write>, Error> {
        let wanted = distinct_manifests(&context.placements);
        let mut stored = BTreeSet::new();
        let mut unused = Vec::new();
        if update {
            for entry in self.store.list_all(&path::manifests(&context.id)).await? {
                let hash =
                    entry.path.segments().next_back().and_then(|text| text.parse::<ContentHash>().ok());
                match hash.filter(|hash| wanted.contains_key(hash)) {
                    Some(hash) => drop(stored.insert(hash)),
                    None => unused.push(Write::Delete { path: entry.path, version: entry.version }),
                }
            }
        }
        for (hash, manifest) in wanted.iter().filter(|(hash, _)| !stored.contains(hash)) {
            let document = Document::from_value(manifest)?;
            writes.push(Write::Create { path: path::manifest(&context.id, *hash), document });
        }
        Ok(unused)
    }

    /// Applies the writes in order, in as few batches as the limits allow. What is there already as it should be
    /// (our own claim, a manifest of the same content, a deletion that happened) is passed over.
    async fn write_in_batches(
        &self,
        context: &AppContext,
        mut writes: Vec<Write>,
        mut claimed: usize,
    ) -> Result<(), Error> {
        while !writes.is_empty() {
            let end = batch_end(&writes);
            match self.store.write(&writes[..end]).await {
                Ok(_) => {
                    writes.drain(..end);
                    claimed = claimed.saturating_sub(end);
                }
                Err(error) => {
                    writes.drain(..error.applied);
                    claimed = claimed.saturating_sub(error.applied);
                    let conflict = match error.source {
                        store::Error::Conflict { path, .. } => path,
                        source => return Err(source.into()),
                    };
                    let index = writes.iter().position(|write| *write.path() == conflict);
                    let index = index.ok_or_else(|| contended(context))?;
                    self.may_pass_over(context, &conflict, index < claimed).await?;
                    writes.remove(index);
                    claimed -= usize::from(index < claimed);
                }
            }
        }
        Ok(())
    }

    async fn may_pass_over(&self, context: &AppContext, path: &Path, is_claim: bool) -> Result<(), Error> {
        if is_claim {
            return self.check_claim(context, path).await;
        }
        if *path == path::root(&context.id) { Err(contended(context)) } else { Ok(()) }
    }

    /// Deletes all documents below a prefix.
    pub(super) async fn delete_below(&self, prefix: &Prefix) -> Result<(), Error> {
        let entries = self.store.list_all(prefix).await?;
        let deletions: Vec<Write> = entries
            .into_iter()
            .map(|entry| Write::Delete { path: entry.path, version: entry.version })
            .collect();
        self.delete_all(&deletions).await
    }

    /// Applies deletions, in batches; what is gone already is passed over.
    pub(super) async fn delete_all(&self, deletions: &[Write]) -> Result<(), Error> {
        for batch in deletions.chunks(BATCH_WRITES_MAX) {
            if self.store.write(batch).await.is_ok() {
                continue;
            }
            for deletion in batch {
                match self.store.write_one(deletion.clone()).await {
                    Ok(_) | Err(store::Error::Conflict { found: None, .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }
}

fn contended(context: &AppContext) -> Error {
    Error::Contended { id: context.id.clone() }
}

/// How many of the writes fit one batch; at least one.
fn batch_end(writes: &[Write]) -> usize {
    let mut bytes = 0;
    let fits = writes.iter().take(BATCH_WRITES_MAX).take_while(|write| {
        bytes += match write {
            Write::Create { document, .. } | Write::Update { document, .. } => document.as_str().len(),
            Write::Delete { .. } => 0,
        };
        bytes <= BATCH_BYTES_MAX
    });
    fits.count().max(1)
}

fn distinct_manifests(placements: &BTreeMap<ClusterId, Arc<Bundle>>) -> BTreeMap<ContentHash, Manifest> {
    let mut seen = BTreeSet::new();
    let bundles = placements.values().filter(|bundle| seen.insert(bundle.hash()));
    let steps = bundles.flat_map(|bundle| bundle.steps());
    steps
        .filter_map(|step| match &step.action {
            Action::Apply { manifest, .. } => Some((manifest.hash(), manifest.clone())),
            Action::Request { .. } => None,
        })
        .collect()
}

/// Reads a context's manifests.
pub(super) async fn manifests(
    store: &dyn Store,
    id: &ContextId,
) -> Result<BTreeMap<ContentHash, Manifest>, store::Error> {
    let mut manifests = BTreeMap::new();
    for entry in store.list_all(&path::manifests(id)).await? {
        let manifest: Manifest = entry.document.read()?;
        manifests.insert(manifest.hash(), manifest);
    }
    Ok(manifests)
}
