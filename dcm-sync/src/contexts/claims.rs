//! Claims: one record per (cluster, namespace), so that two contexts can't race for it.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::app_context::{Action, AppContext};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{Document, Entry, Path, Prefix, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::Error;
use dcm_core::status::Intent;

use super::{Contexts, deletion};
use crate::record::{self, Claim, Lane, Root, SCHEMA, path};

/// The claims that a context needs and does not hold: each namespace that it makes, in each of its clusters.
pub(super) fn wanted(context: &AppContext, held: &BTreeSet<Path>) -> Result<Vec<Write>, Error> {
    let document = Document::from_value(&Claim { schema: SCHEMA, context: context.id.clone() })?;
    let claims = claimed_paths(context).into_iter().filter(|path| !held.contains(path));
    Ok(claims.map(|path| Write::Create { path, document: document.clone() }).collect())
}

/// The claims that a root holds while it wants its namespaces: they were written before it. `manifests` are the
/// stored ones.
pub(super) fn held(root: &Root, manifests: &[Entry]) -> Result<BTreeSet<Path>, Error> {
    let mut held = BTreeSet::new();
    if root.intent == Intent::Absent {
        return Ok(held);
    }
    let named: BTreeSet<ContentHash> = root.manifests().collect();
    let mut namespaces = BTreeMap::new();
    for entry in manifests {
        if let Some(hash) = path::hash_of_manifest(&entry.path).filter(|hash| named.contains(hash)) {
            let manifest: Manifest = entry.document.read()?;
            if manifest.kind().is_namespace() {
                namespaces.insert(hash, manifest.key().name.clone());
            }
        }
    }
    for (bundle, clusters) in &root.placements {
        let names = root.manifests_of(bundle).filter_map(|hash| namespaces.get(&hash));
        for name in names.collect::<BTreeSet<_>>() {
            held.extend(clusters.iter().map(|cluster| path::claim(cluster, name)));
        }
    }
    Ok(held)
}

fn claimed_paths(context: &AppContext) -> BTreeSet<Path> {
    let mut paths = BTreeSet::new();
    for (cluster, bundle) in &context.placements {
        for step in bundle.steps() {
            if let Action::Apply { manifest, .. } = &step.action
                && manifest.kind().is_namespace()
            {
                paths.insert(path::claim(cluster, &manifest.key().name));
            }
        }
    }
    paths
}

impl Contexts {
    /// The version of a claim that is there already, when it is the context's own.
    pub(super) async fn own_claim_version(
        &self,
        context: &AppContext,
        path: &Path,
    ) -> Result<Version, Error> {
        let Some(entry) = self.store.get(path).await? else {
            return Err(Error::Contended { id: context.id.clone() });
        };
        let claim: Claim = record::read(&entry)?;
        if claim.context == context.id {
            return Ok(entry.version);
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
        if self.store.capabilities().atomic_batches && claimed_paths(context).len() < BATCH_SAFE {
            return Ok(());
        }
        let kept: BTreeSet<&ClusterId> = current.iter().flat_map(|root| root.clusters()).collect();
        let mut deletions = Vec::new();
        for path in claimed_paths(context) {
            let ours_before = path::cluster_of(&path, 1).is_some_and(|cluster| kept.contains(&cluster));
            if !ours_before {
                deletions.extend(self.own_claim(&context.id, &path).await?);
            }
        }
        self.delete_all(deletions).await
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
        Ok(deletions)
    }

    /// Drops the claims on clusters that are named no more and never held anything: no worker has to look there, so
    /// none would give them back.
    pub(super) async fn drop_claims_on_untouched(
        &self,
        id: &ContextId,
        before: &Root,
        now: &Root,
    ) -> Result<(), Error> {
        let named: BTreeSet<&ClusterId> = now.clusters().collect();
        let mut deletions = Vec::new();
        for cluster in before.clusters().filter(|cluster| !named.contains(cluster)) {
            if self.is_touched(id, cluster).await? {
                continue;
            }
            for entry in self.store.list_all(&Prefix::below(&path::claims(cluster))).await? {
                deletions.extend(self.own_claim(id, &entry.path).await?);
            }
        }
        self.delete_all(deletions).await
    }

    async fn is_touched(&self, id: &ContextId, cluster: &ClusterId) -> Result<bool, Error> {
        let Some(entry) = self.store.get(&path::lane(id, cluster)).await? else { return Ok(false) };
        let lane: Lane = record::read(&entry)?;
        Ok(!lane.kinds.is_empty())
    }

    pub(super) async fn own_claim(&self, id: &ContextId, path: &Path) -> Result<Option<Write>, Error> {
        let Some(entry) = self.store.get(path).await? else { return Ok(None) };
        let claim: Claim = record::read(&entry)?;
        Ok((claim.context == *id).then(|| deletion(&entry)))
    }
}

/// With fewer claims than this, all of them are in the first batch: it failed as a whole, and made none.
const BATCH_SAFE: usize = dcm_core::port::store::BATCH_WRITES_MAX;
