//! What is kept of documents: names, hashes and versions.

use std::collections::{BTreeMap, BTreeSet};

use crate::app_context::Generation;
use crate::name::{LogicalCloudName, ProjectName, UserName};
use crate::port::store::{Path, Version};
use crate::service::documents::{DocumentId, RootDocument};
use crate::service::path::{self, Place};

/// All that is kept.
#[derive(Default)]
pub(super) struct Facts {
    /// Every document, with its version.
    pub(super) there: BTreeMap<Path, Version>,
    /// Those of which nothing is known.
    pub(super) unread: BTreeSet<Path>,
    pub(super) roots: BTreeMap<(ProjectName, LogicalCloudName), RootFacts>,
    /// Parts and lists of parts.
    pub(super) parts: BTreeMap<Place, BTreeMap<DocumentId, (Path, Version)>>,
    /// What the lists of parts name.
    pub(super) contents: BTreeMap<(Place, DocumentId), Vec<DocumentId>>,
    pub(super) snapshots: BTreeMap<Place, BTreeMap<DocumentId, SnapshotFacts>>,
    /// What belongs to a logical cloud, whichever it is.
    pub(super) belongings: Vec<(Place, Path, Version)>,
    pub(super) deleted: BTreeSet<Place>,
}

/// What is kept of a root.
pub(super) struct RootFacts {
    pub(super) place: Place,
    pub(super) version: Version,
    pub(super) stage: Stage,
}

pub(super) enum Stage {
    Reserved,
    Standing(Standing),
    Deleting,
}

/// What a standing root names.
pub(super) struct Standing {
    /// The lists of parts that are in use.
    pub(super) contents: Vec<DocumentId>,
    /// The snapshots that are, or may be, on clusters.
    pub(super) snapshots: BTreeSet<DocumentId>,
    /// True when it was applied ever.
    pub(super) has_owner: bool,
    /// The generation that is wanted on clusters.
    pub(super) generation: Option<Generation>,
    /// It was taken off its clusters: what it was applied with is kept until it is applied anew.
    pub(super) is_terminated: bool,
}

/// What is kept of a snapshot.
pub(super) struct SnapshotFacts {
    pub(super) path: Path,
    pub(super) version: Version,
    /// Who is to have a credential.
    pub(super) users: Vec<UserName>,
    /// True for one with certificate authorities of a mesh.
    pub(super) has_authorities: bool,
}

impl RootFacts {
    pub(super) fn of(
        project: ProjectName,
        cloud: LogicalCloudName,
        root: RootDocument,
        version: Version,
    ) -> Self {
        let (uid, stage) = match root {
            RootDocument::Reserved { uid, .. } => (uid, Stage::Reserved),
            RootDocument::Deleting { uid, .. } => (uid, Stage::Deleting),
            RootDocument::Standing(root) => {
                let contents: BTreeSet<DocumentId> = root.used_contents().cloned().collect();
                let standing = Standing {
                    contents: contents.into_iter().collect(),
                    snapshots: root.used_snapshots().map(|snapshot| snapshot.id.clone()).collect(),
                    has_owner: root.snapshots > 0,
                    generation: root.applied.as_ref().map(|applied| applied.generation),
                    is_terminated: root.terminated.is_some() && root.newest().is_none(),
                };
                (root.uid, Stage::Standing(standing))
            }
        };
        Self { place: Place { project, cloud, uid }, version, stage }
    }

    pub(super) fn key(&self) -> (ProjectName, LogicalCloudName) {
        (self.place.project.clone(), self.place.cloud.clone())
    }
}

impl Facts {
    /// The root of this very cloud.
    pub(super) fn root_of(&self, place: &Place) -> Option<&RootFacts> {
        let root = self.roots.get(&(place.project.clone(), place.cloud.clone()));
        root.filter(|root| root.place == *place)
    }

    /// True for a part of which nothing is known. Where it lies says its kind and name, too, which nobody else does.
    pub(super) fn is_part_unread(&self, place: &Place, id: &DocumentId) -> bool {
        let below = place.parts();
        self.unread.iter().any(|path| below.contains(path) && path::id_of(path).as_ref() == Some(id))
    }

    /// True when nothing is known of what lies where this cloud's root does.
    pub(super) fn is_root_unread(&self, place: &Place) -> bool {
        self.unread.contains(&path::root(&place.project, &place.cloud))
    }
}
