//! Claims: one record per (cluster, namespace), so that two contexts can't race for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, AppContext, Generation};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{Document, Entry, Path, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::Error;

use super::{Contexts, deletion};
use crate::record::{self, Claim, Lane, Root, SCHEMA, path};

/// The namespaces that are claimed, by cluster.
pub(super) type Named = BTreeMap<ClusterId, BTreeSet<Arc<str>>>;

/// The claims that a generation of a context needs and does not hold: each namespace that it makes, in each of its
/// clusters.
pub(super) fn wanted(
    context: &AppContext,
    generation: Generation,
    held: &Named,
) -> Result<Vec<Write>, Error> {
    let claim = Claim { schema: SCHEMA, context: context.id.clone(), generation };
    let document = Document::from_value(&claim)?;
    let claims = without(named_by(context), held);
    Ok(paths(&claims).map(|path| Write::Create { path, document: document.clone() }).collect())
}

/// The namespaces that a root names, which it holds the claims of while it wants them: they were written before it.
/// `manifests` are the stored ones.
pub(super) fn named(root: &Root, manifests: &[Entry]) -> Result<Named, Error> {
    let hashes: BTreeSet<ContentHash> = root.manifests().collect();
    let mut namespaces = BTreeMap::new();
    for entry in manifests {
        if let Some(hash) = path::hash_of_manifest(&entry.path).filter(|hash| hashes.contains(hash)) {
            let manifest: Manifest = entry.document.read()?;
            if manifest.kind().is_namespace() {
                namespaces.insert(hash, manifest.key().name.clone());
            }
        }
    }
    let mut named = Named::new();
    for (bundle, clusters) in &root.placements {
        let names: BTreeSet<_> = root.manifests_of(bundle).filter_map(|hash| namespaces.get(&hash)).collect();
        for cluster in clusters.iter().filter(|_| !names.is_empty()) {
            named.entry(cluster.clone()).or_default().extend(names.iter().copied().cloned());
        }
    }
    Ok(named)
}

/// What was claimed, and is not any more by a context, but for what is cleared already.
pub(super) fn leaving(
    mut before: Named,
    root: Option<&Root>,
    cleared: &BTreeSet<ClusterId>,
    context: &AppContext,
) -> Named {
    let leaving = root.iter().flat_map(|root| &root.leaving);
    for (cluster, names) in leaving.filter(|(cluster, _)| !cleared.contains(cluster)) {
        before.entry(cluster.clone()).or_default().extend(names.iter().cloned());
    }
    without(before, &named_by(context))
}

fn without(mut named: Named, other: &Named) -> Named {
    for (cluster, names) in &mut named {
        if let Some(other) = other.get(cluster) {
            names.retain(|name| !other.contains(name));
        }
    }
    named.retain(|_, names| !names.is_empty());
    named
}

fn paths(named: &Named) -> impl Iterator<Item = Path> + '_ {
    named.iter().flat_map(|(cluster, names)| names.iter().map(|name| path::claim(cluster, name)))
}

fn named_by(context: &AppContext) -> Named {
    let mut named = Named::new();
    for (cluster, bundle) in &context.placements {
        for step in bundle.steps() {
            if let Action::Apply { manifest, .. } = &step.action
                && manifest.kind().is_namespace()
            {
                named.entry(cluster.clone()).or_default().insert(manifest.key().name.clone());
            }
        }
    }
    named
}

impl Contexts {
    /// The version of a claim that is there already, when it is the context's own, and of no later generation: then
    /// somebody else was quicker, and this apply begins anew.
    pub(super) async fn own_claim_version(
        &self,
        context: &AppContext,
        path: &Path,
        wanted: &Document,
    ) -> Result<Version, Error> {
        let Some(entry) = self.store.get(path).await? else {
            return Err(Error::Contended { id: context.id.clone() });
        };
        let claim: Claim = record::read(&entry)?;
        if claim.context == context.id {
            let is_later = claim.generation > wanted.read::<Claim>()?.generation;
            return if is_later {
                Err(Error::Contended { id: context.id.clone() })
            } else {
                Ok(entry.version)
            };
        }
        let cluster = path::cluster_of(path, 1);
        let cluster = cluster.ok_or_else(|| Error::Contended { id: context.id.clone() })?;
        let namespace = path.segments().next_back().unwrap_or_default().into();
        Err(Error::NamespaceTaken { namespace, cluster, winner: claim.context })
    }

    /// After a refused apply: gives back the claims that only this try had made.
    pub(super) async fn give_claims_back(
        &self,
        context: &AppContext,
        current: Option<&Root>,
    ) -> Result<(), Error> {
        let named = named_by(context);
        if self.store.capabilities().atomic_batches && paths(&named).count() < BATCH_SAFE {
            return Ok(());
        }
        let kept: BTreeSet<&ClusterId> = current.iter().flat_map(|root| root.clusters()).collect();
        let mut deletions = Vec::new();
        for (cluster, names) in named.iter().filter(|(cluster, _)| !kept.contains(cluster)) {
            for name in names {
                deletions.extend(self.own_claim(&context.id, &path::claim(cluster, name)).await?);
            }
        }
        self.delete_all(deletions).await.map(drop)
    }

    /// The deletions of all claims of a context, but for those on some clusters.
    pub(super) async fn claims_of(
        &self,
        id: &ContextId,
        root: &Root,
        but: &BTreeSet<ClusterId>,
    ) -> Result<Vec<Write>, Error> {
        let mut namespaces = BTreeSet::new();
        let manifests = super::writing::manifests(&*self.store, id).await?;
        for manifest in root.manifests().filter_map(|hash| manifests.get(&hash)) {
            if manifest.kind().is_namespace() {
                namespaces.insert(manifest.key().name.clone());
            }
        }
        let mut deletions = Vec::new();
        for cluster in root.clusters().filter(|cluster| !but.contains(cluster)) {
            for namespace in &namespaces {
                deletions.extend(self.own_claim(id, &path::claim(cluster, namespace)).await?);
            }
        }
        for path in paths(&root.leaving) {
            if path::cluster_of(&path, 1).is_some_and(|cluster| !but.contains(&cluster)) {
                deletions.extend(self.own_claim(id, &path).await?);
            }
        }
        deletions.sort_by(|one, other| one.path().cmp(other.path()));
        deletions.dedup_by(|one, other| one.path() == other.path());
        Ok(deletions)
    }

    /// The clusters on which nothing is leaving any more: the lane's record was stored for this root, or a later one, and
    /// the claims were dropped before that.
    pub(super) async fn cleared(&self, id: &ContextId, root: &Root) -> Result<BTreeSet<ClusterId>, Error> {
        let mut cleared = BTreeSet::new();
        if root.leaving.is_empty() {
            return Ok(cleared);
        }
        for entry in self.store.list_all(&path::lanes(id)).await? {
            let Some(cluster) = path::cluster_of(&entry.path, 2) else { continue };
            let lane: Lane = record::read(&entry)?;
            let leaving = root.leaving.get(&cluster);
            let is_named = leaving.is_some_and(|names| !names.is_disjoint(&lane.namespaces));
            if !root.is_leaving(&cluster, &lane) && !is_named {
                cleared.insert(cluster);
            }
        }
        Ok(cleared)
    }

    pub(super) async fn own_claim(&self, id: &ContextId, path: &Path) -> Result<Option<Write>, Error> {
        let Some(entry) = self.store.get(path).await? else { return Ok(None) };
        let claim: Claim = record::read(&entry)?;
        Ok((claim.context == *id).then(|| deletion(&entry)))
    }
}

/// With fewer claims than this, all of them are in the first batch: it failed as a whole, and made none.
const BATCH_SAFE: usize = dcm_core::port::store::BATCH_WRITES_MAX;
