//! Freezing: a snapshot with the credentials that it names, stored before any cluster hears of them.

use crate::port::store::{Document, Write};

use super::commit::{root_update, write_with_root};
use super::documents::{ContextOwner, DocumentId, Root, SCHEMA, Snapshot, SnapshotReference, to_value};
use super::error::Error;
use super::load::Loaded;
use super::logical_clouds::LogicalClouds;
use super::path::{self, Place};

/// What is stored before an app context is handed over.
pub(super) struct Freezing {
    pub(super) snapshot: Snapshot,
    pub(super) incarnation: u64,
    /// The credentials and authorities that are new.
    pub(super) keys: Vec<Write>,
}

impl LogicalClouds {
    /// Stores keys and the snapshot; then the root says that it is being applied.
    pub(super) async fn reserve(&self, loaded: &Loaded, freezing: &Freezing) -> Result<DocumentId, Error> {
        let place = &loaded.place;
        let Freezing { snapshot, incarnation, keys } = freezing;
        let value = to_value(snapshot)?;
        let id = DocumentId::of(snapshot.number, &value);
        let mut writes = keys.clone();
        let path = place.snapshot(&id);
        writes.push(Write::Create { path: path.clone(), document: Document::from_value(&value)? });
        if loaded.root.snapshots == 0 {
            writes.push(owner(place)?);
        }
        let mut root =
            Root { incarnation: *incarnation, snapshots: snapshot.number, ..(*loaded.root).clone() };
        root.begin(SnapshotReference {
            id: id.clone(),
            edit: snapshot.edit,
            contents: snapshot.contents.clone(),
            made: snapshot.made.clone(),
        });
        writes.push(root_update(place, loaded.version, &root)?);
        // A snapshot or an owner that is there already says the same.
        let owner = path::context_owner(&place.context_id());
        write_with_root(&*self.documents, place, writes, |found| *found == path || *found == owner).await?;
        Ok(id)
    }
}

/// Says whose the cloud's app context is.
fn owner(place: &Place) -> Result<Write, Error> {
    let path = path::context_owner(&place.context_id());
    let Place { project, cloud, uid } = place.clone();
    let document = Document::from_value(&ContextOwner { schema: SCHEMA, project, cloud, uid })?;
    Ok(Write::Create { path, document })
}
