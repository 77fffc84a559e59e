//! Claims: one record per (cluster, namespace), so that two contexts can't race for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{AppContext, Generation};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{Document, Path, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::Error;

use super::writing::manifests_of;
use super::{Contexts, deletion};
use crate::record::{self, Claim, Lane, Root, SCHEMA, path};

/// The namespaces that are claimed, by cluster.
pub(super) type Named = BTreeMap<ClusterId, BTreeSet<Arc<str>>>;

/// The namespaces that a context needs and does not hold: each that it makes, in each of its clusters.
pub(super) fn wanted(context: &AppContext, held: &Named) -> Named {
    without(named_by(context), held)
}

/// Claims of a generation of a context.
pub(super) fn writes(id: &ContextId, generation: Generation, claims: &Named) -> Result<Vec<Write>, Error> {
    let claim = Claim { schema: SCHEMA, context: id.clone(), generation };
    let document = Document::from_value(&claim)?;
    Ok(paths(claims).map(|path| Write::Create { path, document: document.clone() }).collect())
}

/// The namespaces that a root names, which it holds the claims of while it wants them: they were written before it.
/// `manifests` are those that it names.
pub(super) fn named(root: &Root, manifests: &BTreeMap<ContentHash, Manifest>) -> Named {
    let namespaces = manifests.iter().filter(|(_, manifest)| manifest.kind().is_namespace());
    let namespaces: BTreeMap<_, _> =
        namespaces.map(|(hash, manifest)| (*hash, manifest.key().name.clone())).collect();
    let mut named = Named::new();
    for (_, placed) in root.placements.bundles() {
        let names: BTreeSet<_> = placed.manifests().filter_map(|hash| namespaces.get(&hash)).collect();
        for cluster in placed.clusters.iter().filter(|_| !names.is_empty()) {
            named.entry(cluster.clone()).or_default().extend(names.iter().copied().cloned());
        }
    }
    named
}

/// What the record of a lane holds the claims of.
pub(super) fn of_lane(cluster: &ClusterId, lane: &Lane) -> Named {
    Named::from([(cluster.clone(), lane.namespaces.iter().cloned().collect())])
}

/// What was claimed, and is not any more by a context.
pub(super) fn leaving(claimed: Named, context: &AppContext) -> Named {
    without(claimed, &named_by(context))
}

/// Adds what others name.
pub(super) fn join(named: &mut Named, others: Named) {
    for (cluster, names) in others {
        named.entry(cluster).or_default().extend(names);
    }
}

pub(super) fn without(mut named: Named, other: &Named) -> Named {
    for (cluster, names) in &mut named {
        if let Some(other) = other.get(cluster) {
            names.retain(|name| !other.contains(name));
        }
    }
    named.retain(|_, names| !names.is_empty());
    named
}

pub(super) fn paths(named: &Named) -> impl Iterator<Item = Path> + '_ {
    named.iter().flat_map(|(cluster, names)| names.iter().map(|name| path::claim(cluster, name)))
}

fn named_by(context: &AppContext) -> Named {
    let mut named = Named::new();
    for (cluster, bundle) in &context.placements {
        for manifest in bundle.manifests().filter(|manifest| manifest.kind().is_namespace()) {
            named.entry(cluster.clone()).or_default().insert(manifest.key().name.clone());
        }
    }
    named
}

impl Contexts {
    /// The version of a claim that is there already, when it is the context's own, and of no later generation: then
    /// somebody else was quicker, and this apply begins anew. A claim of a context that nobody has heard of came from an apply
    /// that was late, or died, when that was forgotten: whoever has a root needs it more.
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
        if self.root(&claim.context).await?.is_none() {
            return Ok(entry.version);
        }
        let cluster = path::cluster_of(path);
        let cluster = cluster.ok_or_else(|| Error::Contended { id: context.id.clone() })?;
        let namespace = path.segments().next_back().unwrap_or_default().into();
        Err(Error::NamespaceTaken { namespace, cluster, winner: claim.context })
    }

    /// The deletions of all claims of a context, but for those on some clusters.
    pub(super) async fn claims_of(
        &self,
        id: &ContextId,
        root: &Root,
        but: &BTreeSet<ClusterId>,
    ) -> Result<Vec<Write>, Error> {
        let stored = self.store.list_all(&path::manifests(id)).await?;
        let mut claims = named(root, &manifests_of(root, &stored)?);
        join(&mut claims, root.leaving.clone());
        if let Some((left, _)) = self.claiming(id).await? {
            join(&mut claims, left.namespaces);
        }
        claims.retain(|cluster, _| !but.contains(cluster));
        self.own_claims(id, &claims).await
    }

    /// What is leaving still. Where the lane's record was stored for this root, or a later one, the claims were dropped before
    /// that.
    pub(super) async fn leaving(&self, id: &ContextId, root: &Root) -> Result<Named, Error> {
        let mut leaving = root.leaving.clone();
        if leaving.is_empty() {
            return Ok(leaving);
        }
        for entry in self.store.list_all(&path::lanes(id)).await? {
            let Some(cluster) = path::cluster_of(&entry.path) else { continue };
            let lane: Lane = record::read(&entry)?;
            let names = leaving.get(&cluster);
            let is_named = names.is_some_and(|names| lane.namespaces.iter().any(|name| names.contains(name)));
            if !root.is_leaving(&cluster, &lane) && !is_named {
                leaving.remove(&cluster);
            }
        }
        Ok(leaving)
    }

    /// The deletions of those claims that are there and the context's own.
    pub(super) async fn own_claims(&self, id: &ContextId, named: &Named) -> Result<Vec<Write>, Error> {
        let mut deletions = Vec::new();
        for path in paths(named) {
            let Some(entry) = self.store.get(&path).await? else { continue };
            let claim: Claim = record::read(&entry)?;
            if claim.context == *id {
                deletions.push(deletion(&entry));
            }
        }
        Ok(deletions)
    }
}
