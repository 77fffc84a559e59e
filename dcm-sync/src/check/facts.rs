//! What is kept of records: names, hashes and versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::Generation;
use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{Path, Version};
use dcm_core::status::Intent;

use crate::record::{Answer, Lane, Placements, Root, path};

/// Namespaces by cluster.
pub(super) type Named = BTreeMap<ClusterId, BTreeSet<Arc<str>>>;

/// All that is kept.
#[derive(Default)]
pub(super) struct Facts {
    /// Every record, with its version.
    pub(super) there: BTreeMap<Path, Version>,
    /// Those of which nothing is known.
    pub(super) unread: BTreeSet<Path>,
    pub(super) roots: BTreeMap<ContextId, RootFacts>,
    /// The names of those manifests that are namespaces.
    pub(super) namespaces: BTreeMap<(ContextId, ContentHash), Arc<str>>,
    pub(super) lanes: BTreeMap<(ContextId, ClusterId), LaneFacts>,
    pub(super) results: Vec<(ContextId, ClusterId, Arc<str>)>,
    pub(super) claims: BTreeMap<Path, ClaimFacts>,
    pub(super) claiming: BTreeMap<ContextId, Named>,
}

/// What is kept of a root.
pub(super) struct RootFacts {
    pub(super) version: Version,
    pub(super) generation: Generation,
    pub(super) is_present: bool,
    pub(super) is_forgetting: bool,
    pub(super) without_results: Option<Generation>,
    /// The manifests of each bundle.
    pub(super) placements: Placements,
    pub(super) leaving: Named,
}

/// What is kept of a lane.
pub(super) struct LaneFacts {
    pub(super) version: Version,
    pub(super) generation: Generation,
    pub(super) issued: Vec<Answer>,
    pub(super) lapsed: Vec<Arc<str>>,
    pub(super) dropping: Vec<Arc<str>>,
    pub(super) namespaces: BTreeSet<Arc<str>>,
}

/// What is kept of a claim.
pub(super) struct ClaimFacts {
    pub(super) context: ContextId,
    pub(super) cluster: ClusterId,
}

impl RootFacts {
    pub(super) fn of(root: Root, version: Version) -> Self {
        Self {
            version,
            generation: root.generation,
            is_present: root.intent == Intent::Present,
            is_forgetting: root.forgetting,
            without_results: root.without_results,
            placements: root.placements,
            leaving: root.leaving,
        }
    }

    /// The manifests that its bundles name.
    pub(super) fn manifests(&self) -> BTreeSet<ContentHash> {
        self.placements.bundles().flat_map(|(_, placed)| placed.manifests()).collect()
    }

    /// True when a cluster is to hold something of it.
    pub(super) fn wants(&self, cluster: &ClusterId) -> bool {
        self.is_present && self.placements.of_cluster(cluster).is_some()
    }
}

impl LaneFacts {
    pub(super) fn of(lane: Lane, version: Version) -> Self {
        let Lane { generation, issued, lapsed, dropping, namespaces, .. } = lane;
        Self { version, generation, issued, lapsed, dropping, namespaces: namespaces.into_iter().collect() }
    }

    /// True when a result of this request may be stored.
    pub(super) fn may_have(&self, request: &Arc<str>) -> bool {
        let mut may_go = self.lapsed.iter().chain(&self.dropping);
        self.issued.iter().any(|answer| answer.name == *request) || may_go.any(|name| name == request)
    }
}

impl Facts {
    /// True when nothing is known of what lies there.
    pub(super) fn is_unread(&self, path: &Path) -> bool {
        self.unread.contains(path)
    }

    /// The namespaces that a root names, by cluster; none when a manifest of it is missing or can't be read.
    pub(super) fn named(&self, context: &ContextId, root: &RootFacts) -> Option<Named> {
        let mut named = Named::new();
        for (_, placed) in root.placements.bundles() {
            let is_known = |hash: ContentHash| {
                let path = path::manifest(context, hash);
                self.there.contains_key(&path) && !self.unread.contains(&path)
            };
            if !placed.manifests().all(is_known) {
                return None;
            }
            let names = placed.manifests().filter_map(|hash| self.namespaces.get(&(context.clone(), hash)));
            let names: BTreeSet<Arc<str>> = names.cloned().collect();
            for cluster in placed.clusters.iter().filter(|_| !names.is_empty()) {
                named.entry(cluster.clone()).or_default().extend(names.iter().cloned());
            }
        }
        Some(named)
    }
}
