//! Reading a logical cloud from its documents.
//!
//! A cloud is what its root names, and nothing else below its UID is. So a half-written edit is never seen: its parts
//! are not named yet. While parts are read, an edit may remove some that the root named a moment ago; then the root is
//! another one by now, and all is read again.

use std::collections::BTreeMap;
use std::fmt;

use crate::logical_cloud::{ClusterReference, Draft, LogicalCloud, LogicalCloudUid};
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::store::{self, Entry, Store, StoreExt, Version};

use super::documents::{
    Contents, DocumentId, Part, Root, RootDocument, Snapshot, SnapshotReference, join, read,
};
use super::error::{Error, Kind};
use super::path::{self, Place};
use super::precondition::EditId;

/// How often something is tried again when somebody else changed it in the same moment.
pub(super) const CONTENTION_TRIES: usize = 8;

/// Does something with a thing of this kind and name, again while somebody else is quicker.
pub(super) async fn contending<T, F: Future<Output = Result<T, Error>>>(
    kind: Kind,
    name: &impl fmt::Display,
    once: impl Fn() -> F,
) -> Result<T, Error> {
    for _ in 0..CONTENTION_TRIES {
        match once().await {
            Err(error) if error.is_lost_race() => {}
            other => return other,
        }
    }
    Err(Error::contended(kind, name))
}

/// What a name stands for, with the version of the document that says so.
pub(super) enum Found {
    Nothing,
    Reserved(Place, Version),
    Standing(Place, Box<Root>, Version),
    Deleting(Place, Version),
}

impl Found {
    /// Names the last edit of a standing cloud.
    pub(super) fn edit_id(&self) -> Option<EditId> {
        match self {
            Self::Standing(_, root, _) => Some(root.edit_id()),
            Self::Nothing | Self::Reserved(..) | Self::Deleting(..) => None,
        }
    }
}

/// Reads what a name stands for.
pub(super) async fn find(
    store: &dyn Store,
    project: &ProjectName,
    cloud: &LogicalCloudName,
) -> Result<Found, Error> {
    let Some(entry) = store.get(&path::root(project, cloud)).await? else { return Ok(Found::Nothing) };
    found(project, cloud, &entry)
}

/// What the entry of a root says.
pub(super) fn found(project: &ProjectName, cloud: &LogicalCloudName, entry: &Entry) -> Result<Found, Error> {
    let place = |uid: LogicalCloudUid| Place { project: project.clone(), cloud: cloud.clone(), uid };
    Ok(match read(entry)? {
        RootDocument::Reserved { uid, .. } => Found::Reserved(place(uid), entry.version),
        RootDocument::Standing(root) => Found::Standing(place(root.uid), root, entry.version),
        RootDocument::Deleting { uid, .. } => Found::Deleting(place(uid), entry.version),
    })
}

/// The standing root of a logical cloud.
pub(super) async fn standing(
    store: &dyn Store,
    project: &ProjectName,
    cloud: &LogicalCloudName,
) -> Result<(Place, Box<Root>, Version), Error> {
    match find(store, project, cloud).await? {
        Found::Standing(place, root, version) => Ok((place, root, version)),
        Found::Nothing | Found::Reserved(..) | Found::Deleting(..) => Err(Error::no_cloud(project, cloud)),
    }
}

/// A logical cloud as it was read.
pub(super) struct Loaded {
    pub(super) place: Place,
    pub(super) root: Box<Root>,
    pub(super) version: Version,
    pub(super) parts: Parts,
    pub(super) cloud: LogicalCloud,
}

/// Reads a logical cloud.
pub(super) async fn load(
    store: &dyn Store,
    project: &ProjectName,
    cloud: &LogicalCloudName,
) -> Result<Loaded, Error> {
    for _ in 0..CONTENTION_TRIES {
        let (place, root, version) = standing(store, project, cloud).await?;
        let parts = Parts::list(store, &place).await?;
        match parts.cloud(&root.contents) {
            Ok(cloud) => return Ok(Loaded { place, root, version, parts, cloud }),
            Err(error @ Error::Incomplete { .. }) => {
                if standing(store, project, cloud).await?.2 == version {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::contended(Kind::LogicalCloud, cloud))
}

/// What an apply froze, with its cloud.
pub(super) struct Frozen {
    pub(super) snapshot: Snapshot,
    pub(super) cloud: LogicalCloud,
}

/// Reads a logical cloud with one of its snapshots; none when it has no such snapshot. A snapshot may be replaced while
/// it is read; then all is read again.
pub(super) async fn load_with(
    store: &dyn Store,
    project: &ProjectName,
    cloud: &LogicalCloudName,
    which: fn(&Root) -> Option<&SnapshotReference>,
) -> Result<(Loaded, Option<Frozen>), Error> {
    for _ in 0..CONTENTION_TRIES {
        let loaded = load(store, project, cloud).await?;
        let Some(reference) = which(&loaded.root) else { return Ok((loaded, None)) };
        match frozen(store, &loaded.place, &loaded.parts, reference).await {
            Ok(frozen) => return Ok((loaded, Some(frozen))),
            Err(error @ Error::Incomplete { .. }) => {
                if standing(store, project, cloud).await?.2 == loaded.version {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::contended(Kind::LogicalCloud, cloud))
}

/// Reads a snapshot.
pub(super) async fn frozen(
    store: &dyn Store,
    place: &Place,
    parts: &Parts,
    reference: &SnapshotReference,
) -> Result<Frozen, Error> {
    let id = &reference.id;
    let missing = || Error::Incomplete { cloud: place.cloud.clone(), part: format!("snapshot {id}") };
    let snapshot: Snapshot = read(&store.get(&place.snapshot(id)).await?.ok_or_else(missing)?)?;
    let cloud = parts.snapshot(&snapshot)?;
    Ok(Frozen { snapshot, cloud })
}

/// All parts that lie below a cloud's UID, used or not.
pub(super) struct Parts {
    place: Place,
    entries: BTreeMap<DocumentId, Entry>,
}

impl Parts {
    pub(super) async fn list(store: &dyn Store, place: &Place) -> Result<Self, Error> {
        let entries = store.list_all(&place.parts()).await?;
        let named = entries.into_iter().filter_map(|entry| Some((path::id_of(&entry.path)?, entry)));
        Ok(Self { place: place.clone(), entries: named.collect() })
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&DocumentId, &Entry)> {
        self.entries.iter()
    }

    pub(super) fn has(&self, id: &DocumentId) -> bool {
        self.entries.contains_key(id)
    }

    fn entry(&self, id: &DocumentId) -> Result<&Entry, Error> {
        let missing = || Error::Incomplete { cloud: self.place.cloud.clone(), part: id.to_string() };
        self.entries.get(id).ok_or_else(missing)
    }

    /// The list of the parts of one edit.
    pub(super) fn contents(&self, contents: &DocumentId) -> Result<Contents, Error> {
        read(self.entry(contents)?)
    }

    /// The parts of one edit.
    pub(super) fn of(&self, contents: &DocumentId) -> Result<Vec<(DocumentId, Part)>, Error> {
        let ids = self.contents(contents)?.parts.into_iter();
        ids.map(|id| {
            let part = read(self.entry(&id)?)?;
            Ok((id, part))
        })
        .collect()
    }

    /// The logical cloud of one edit.
    pub(super) fn cloud(&self, contents: &DocumentId) -> Result<LogicalCloud, Error> {
        self.checked(self.draft(contents)?)
    }

    /// The logical cloud that a snapshot froze, with the references that its selector added then.
    fn snapshot(&self, snapshot: &Snapshot) -> Result<LogicalCloud, Error> {
        let mut draft = self.draft(&snapshot.contents)?;
        draft.spec.clusters.extend(snapshot.selected.iter().cloned().map(ClusterReference::into));
        self.checked(draft)
    }

    fn draft(&self, contents: &DocumentId) -> Result<Draft, Error> {
        let parts = self.of(contents)?.into_iter().map(|(_, part)| (part.kind, part.spec));
        let unreadable = |source: serde_json::Error| Error::Incomplete {
            cloud: self.place.cloud.clone(),
            part: format!("{contents} ({source})"),
        };
        join(parts).map_err(unreadable)
    }

    /// What is stored goes through the same rules as what comes in. One that breaks them is damaged.
    fn checked(&self, draft: Draft) -> Result<LogicalCloud, Error> {
        let checked = LogicalCloud::without_warnings(self.place.project.clone(), self.place.uid, draft);
        checked.map_err(|refusals| {
            let reason = format!("the logical cloud breaks a rule: {refusals}");
            Error::Unreadable {
                path: self.place.root(),
                source: store::Error::Failed { reason, source: None },
            }
        })
    }
}
