//! How an edit is written: new parts under new names, then the list of all parts, then the root.
//!
//! The root is the commit point. Before it nothing names the new parts; after it the cloud is the edited one.

use std::collections::BTreeMap;

use crate::logical_cloud::{AccountSeed, LogicalCloud};
use crate::port::store::{self, Document, Path, Store, Version, Write};
use crate::port::synchronizer::Removal;

use super::caller::Change;
use super::documents::{Contents, DocumentId, Part, PartKey, Root, RootDocument, SCHEMA, split, to_value};
use super::error::Error;
use super::load::{self, Found, Parts};
use super::path::Place;
use super::{clean, writing};

/// What an edit writes before the root.
pub(super) struct Plan {
    edit: u64,
    contents_id: DocumentId,
    contents: Contents,
    writes: Vec<Write>,
}

impl Plan {
    /// Keeps the parts that are as they were, and makes documents of the others.
    pub(super) fn new(
        place: &Place,
        root: Option<&Root>,
        parts: &Parts,
        cloud: &LogicalCloud,
        change: &Change,
    ) -> Result<Self, Error> {
        let edit = root.map_or(1, |root| root.edit + 1);
        let mut before = match root {
            Some(root) => by_key(parts.of(&root.contents)?),
            None => BTreeMap::new(),
        };
        let mut writes = Vec::new();
        let mut ids = Vec::new();
        for ((kind, name), spec) in split(cloud.to_draft())? {
            let earlier = before.remove(&(kind, name.clone()));
            let since = earlier.as_ref().map_or(edit, |(_, part)| part.since);
            if let Some((id, _)) = earlier.filter(|(_, part)| part.spec == spec) {
                ids.push(id);
                continue;
            }
            let part = Part { schema: SCHEMA, kind, name, changed: change.clone(), since, spec };
            let value = to_value(&part)?;
            let id = DocumentId::of(edit, &value);
            if !parts.has(&id) {
                let path = place.part(kind, &part.name, &id);
                writes.push(Write::Create { path, document: Document::from_value(&value)? });
            }
            ids.push(id);
        }
        ids.sort_unstable();
        let contents = Contents { schema: SCHEMA, parts: ids };
        let value = to_value(&contents)?;
        let contents_id = DocumentId::of(edit, &value);
        if !parts.has(&contents_id) {
            let path = place.contents(&contents_id);
            writes.push(Write::Create { path, document: Document::from_value(&value)? });
        }
        Ok(Self { edit, contents_id, contents, writes })
    }
}

fn by_key(parts: Vec<(DocumentId, Part)>) -> BTreeMap<PartKey, (DocumentId, Part)> {
    parts.into_iter().map(|(id, part)| ((part.kind, part.name.clone()), (id, part))).collect()
}

/// The root of a new cloud.
pub(super) fn first_root(cloud: &LogicalCloud, accounts: AccountSeed, plan: &Plan, change: Change) -> Root {
    Root {
        schema: SCHEMA,
        uid: cloud.uid(),
        accounts,
        metadata: cloud.metadata().clone().into(),
        level: cloud.level(),
        labels: cloud.labels().clone(),
        namespace: cloud.namespace().cloned(),
        users: cloud.users().len(),
        references: cloud.references().len(),
        created: change.clone(),
        changed: change,
        edit: plan.edit,
        contents: plan.contents_id.clone(),
        incarnation: 0,
        snapshots: 0,
        applying: None,
        replaced: Vec::new(),
        applied: None,
        ended: None,
        stopped: None,
        terminated: None,
        leaving: None,
        removal: Removal::default(),
        history: Vec::new(),
    }
}

/// The root after an edit.
pub(super) fn next_root(before: &Root, cloud: &LogicalCloud, plan: &Plan, change: Change) -> Root {
    let before = before.clone();
    Root {
        created: before.created,
        incarnation: before.incarnation,
        snapshots: before.snapshots,
        applying: before.applying,
        replaced: before.replaced,
        applied: before.applied,
        ended: before.ended,
        stopped: before.stopped,
        terminated: before.terminated,
        leaving: before.leaving,
        removal: before.removal,
        history: before.history,
        ..first_root(cloud, before.accounts, plan, change)
    }
}

/// Writes an edit, if the root still has the version that it was planned on.
pub(super) async fn commit(
    store: &dyn Store,
    place: &Place,
    version: Version,
    parts: &Parts,
    plan: Plan,
    root: &Root,
) -> Result<(), Error> {
    let mut writes = plan.writes;
    writes.push(root_update(place, version, root)?);
    let below = place.parts();
    // A part that is there already has the same content: the hash in its name says so.
    write_with_root(store, place, writes, |path| below.contains(path)).await?;
    // The edit is accepted by now. What is not cleaned up is cleaned up by a later one.
    drop(clean::parts(store, parts, root, &plan.contents).await);
    Ok(())
}

/// The write of a standing root.
pub(super) fn root_update(place: &Place, version: Version, root: &Root) -> Result<Write, Error> {
    let document = Document::from_value(&RootDocument::Standing(Box::new(root.clone())))?;
    Ok(Write::Update { path: place.root(), version, document })
}

/// Applies writes of which the last is the root's. When the cloud turns out to be gone, so is what was written for it:
/// whoever deletes it may have looked for it before.
pub(super) async fn write_with_root(
    store: &dyn Store,
    place: &Place,
    writes: Vec<Write>,
    passes_over: impl Fn(&Path) -> bool,
) -> Result<(), Error> {
    let Err(error) = writing::write_in_order(store, writes, passes_over).await else { return Ok(()) };
    if matches!(error, store::Error::Conflict { .. }) && is_gone(store, place).await? {
        clean::everything(store, place).await?;
    }
    Err(error.into())
}

/// True when this very cloud is neither there nor about to be.
async fn is_gone(store: &dyn Store, place: &Place) -> Result<bool, Error> {
    Ok(match load::find(store, &place.project, &place.cloud).await? {
        Found::Nothing | Found::Deleting(..) => true,
        Found::Reserved(found, _) | Found::Standing(found, ..) => found != *place,
    })
}
