//! Looking through the documents of the services.
//!
//! Taken from each document are names, hashes and versions; what the parts of a cloud say is kept for one cloud at a time, while
//! its parts are read. [`rules`] then hold them against each other.

mod facts;
mod rules;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app_context::Generation;
use crate::check::{self, Rule, Survey, Suspicion};
use crate::kubeconfig::Admin;
use crate::logical_cloud::LogicalCloud;
use crate::name::{ClusterId, ContextId};
use crate::port::room::Room;
use crate::port::store::{Entry, Path, Version};

use super::documents::{
    AuthorityDocument, ClusterDocument, Contents, ContextOwner, ControllerDocument, CredentialDocument,
    Deleted, DocumentId, HandedOut, OwnerDocument, Part, RootDocument, Schema, Snapshot, join,
};
use super::path::{self, Belonging, Place};
use facts::{Facts, RootFacts, SnapshotFacts, Stage};

/// Looks through the documents of projects, clusters and logical clouds.
#[derive(Default)]
pub struct DocumentSurvey {
    facts: Facts,
    suspicions: Vec<Suspicion>,
    /// The parts of the cloud that is read now.
    reading: Option<Reading>,
}

/// The parts of one cloud.
struct Reading {
    place: Place,
    parts: BTreeMap<DocumentId, Part>,
}

/// A logical cloud that is wanted on clusters, as its documents say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedCloud {
    /// Where its root lies.
    pub path: Path,
    /// The root's version.
    pub version: Version,
    /// Its app context.
    pub context: ContextId,
    /// The generation that was handed over last.
    pub generation: Generation,
}

/// What taking a document gave: nothing, or what it is suspected of so that nothing is known of it.
type Taken = Result<(), Box<Suspicion>>;

fn suspect<T>(entry: &Entry, rule: Rule, what: impl Into<String>) -> Result<T, Box<Suspicion>> {
    Err(Box::new(Suspicion::new(&entry.path, entry.version, rule, what)))
}

fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, Box<Suspicion>> {
    check::read(entry, Schema::read)
}

/// Holds what a document says of itself against its path.
fn placed(entry: &Entry, is_so: bool, is: impl std::fmt::Display) -> Taken {
    if is_so { Ok(()) } else { suspect(entry, Rule::Misplaced, format!("it says that it is that of {is}")) }
}

impl DocumentSurvey {
    /// The clouds that are wanted on clusters, to be held against their app contexts.
    pub fn wanted(&self) -> impl Iterator<Item = WantedCloud> + '_ {
        self.facts.roots.values().filter_map(|root| {
            let Stage::Standing(standing) = &root.stage else { return None };
            let (path, version) = (root.place.root(), root.version);
            let context = root.place.context_id();
            standing.generation.map(|generation| WantedCloud { path, version, context, generation })
        })
    }

    fn take_one(&mut self, entry: &Entry) -> Taken {
        let unknown = || suspect(entry, Rule::UnknownPath, "a segment of its path is not what it is to be");
        match path::belonging(&entry.path) {
            None => unknown(),
            Some(Belonging::Project(project)) => owner_document(entry, project.as_str()),
            Some(Belonging::Provider(provider)) => owner_document(entry, provider.as_str()),
            Some(Belonging::Cluster(cluster)) => cluster_document(entry, &cluster),
            Some(Belonging::Controller(group, controller)) => {
                let is = read::<ControllerDocument>(entry)?;
                placed(entry, is.group == group && is.metadata.name == controller.as_str(), &is.metadata.name)
            }
            Some(Belonging::Root(project, cloud)) => {
                let root = RootFacts::of(project, cloud, read::<RootDocument>(entry)?, entry.version);
                self.facts.roots.insert(root.key(), root);
                Ok(())
            }
            Some(Belonging::Owner(context)) => self.take_owner(entry, &context),
            Some(Belonging::Deleted(place)) => {
                let Deleted { project, cloud, uid, .. } = read(entry)?;
                let is = Place { project, cloud, uid };
                placed(entry, is == place, &is.cloud)?;
                self.facts.deleted.insert(place);
                Ok(())
            }
            Some(Belonging::Of(place, what)) => self.take_belonging(entry, place, what),
        }
    }

    /// Takes something of a logical cloud.
    fn take_belonging(&mut self, entry: &Entry, place: Place, what: path::Of) -> Taken {
        self.facts.belongings.push((place.clone(), entry.path.clone(), entry.version));
        match what {
            path::Of::Part(id) => self.take_part(entry, place, &id),
            path::Of::Contents(id) => self.take_contents(entry, place, id),
            path::Of::Snapshot(id) => self.take_snapshot(entry, place, id),
            path::Of::Credential(user) => {
                let is = read::<CredentialDocument>(entry)?.user;
                placed(entry, is == user, is)
            }
            path::Of::Authority(cluster) => {
                let is = read::<AuthorityDocument>(entry)?.cluster;
                let shown = is.as_ref().map_or_else(|| "the root".to_owned(), ToString::to_string);
                placed(entry, is == cluster, shown)
            }
            path::Of::HandedOut(user) => {
                let is = read::<HandedOut>(entry)?.user;
                placed(entry, is == user, is)
            }
        }
    }

    fn take_owner(&mut self, entry: &Entry, context: &ContextId) -> Taken {
        let ContextOwner { project, cloud, uid, .. } = read(entry)?;
        let place = Place { project, cloud, uid };
        placed(entry, place.context_id() == *context, place.context_id())?;
        self.facts.belongings.push((place, entry.path.clone(), entry.version));
        Ok(())
    }

    fn take_part(&mut self, entry: &Entry, place: Place, id: &DocumentId) -> Taken {
        self.read_on(&place);
        let part: Part = read(entry)?;
        unaltered(entry, id)?;
        let path = place.part(part.kind, &part.name, id);
        placed(entry, path == entry.path, &part.name)?;
        self.facts.parts.entry(place).or_default().insert(id.clone(), (entry.path.clone(), entry.version));
        self.reading.iter_mut().for_each(|reading| drop(reading.parts.insert(id.clone(), part.clone())));
        Ok(())
    }

    fn take_contents(&mut self, entry: &Entry, place: Place, id: DocumentId) -> Taken {
        self.read_on(&place);
        let contents: Contents = read(entry)?;
        unaltered(entry, &id)?;
        let named = (entry.path.clone(), entry.version);
        self.facts.parts.entry(place.clone()).or_default().insert(id.clone(), named);
        self.facts.contents.insert((place, id), contents.parts);
        Ok(())
    }

    fn take_snapshot(&mut self, entry: &Entry, place: Place, id: DocumentId) -> Taken {
        let snapshot: Snapshot = read(entry)?;
        unaltered(entry, &id)?;
        let facts = SnapshotFacts {
            path: entry.path.clone(),
            version: entry.version,
            users: snapshot.credentials.into_keys().collect(),
            has_authorities: snapshot.authorities.is_some(),
        };
        self.facts.snapshots.entry(place).or_default().insert(id, facts);
        Ok(())
    }

    /// Begins with the parts of another cloud, when this is one.
    fn read_on(&mut self, place: &Place) {
        if self.reading.as_ref().is_none_or(|reading| reading.place != *place) {
            self.judge_read();
            self.reading = Some(Reading { place: place.clone(), parts: BTreeMap::new() });
        }
    }

    /// Puts the cloud together whose parts were read.
    fn judge_read(&mut self) {
        let Some(Reading { place, parts }) = self.reading.take() else { return };
        let Some(root) = self.facts.root_of(&place) else { return };
        let Stage::Standing(standing) = &root.stage else { return };
        for contents in &standing.contents {
            let listed = self.facts.contents.get(&(place.clone(), contents.clone()));
            let all = listed.and_then(|ids| ids.iter().map(|id| parts.get(id)).collect::<Option<Vec<_>>>());
            // What is missing is told by itself.
            let Some(broken) = all.and_then(|parts| broken(&place, &parts)) else { continue };
            let what = format!("its parts {contents} make no logical cloud: {broken}");
            self.suspicions.push(Suspicion::new(&place.root(), root.version, Rule::Invalid, what));
        }
    }
}

impl Survey for DocumentSurvey {
    fn rooms(&self) -> &'static [Room] {
        &path::ROOMS
    }

    fn take(&mut self, entry: &Entry) {
        self.facts.there.insert(entry.path.clone(), entry.version);
        if let Err(suspicion) = self.take_one(entry) {
            self.facts.unread.insert(entry.path.clone());
            self.suspicions.push(*suspicion);
        }
    }

    fn take_unread(&mut self, path: &Path, version: Version) {
        self.facts.there.insert(path.clone(), version);
        self.facts.unread.insert(path.clone());
    }

    fn suspicions(&mut self) -> Vec<Suspicion> {
        self.judge_read();
        let mut suspicions = std::mem::take(&mut self.suspicions);
        rules::judge(&self.facts, &mut suspicions);
        suspicions
    }
}

fn owner_document(entry: &Entry, owner: &str) -> Taken {
    let is = read::<OwnerDocument>(entry)?.metadata.name;
    placed(entry, is == owner, is)
}

fn cluster_document(entry: &Entry, cluster: &ClusterId) -> Taken {
    let ClusterDocument { id, kubeconfig, .. } = read(entry)?;
    placed(entry, id == *cluster, id)?;
    match Admin::read(&kubeconfig) {
        Ok(_) => Ok(()),
        Err(invalid) => suspect(entry, Rule::Invalid, format!("its kubeconfig can't be used: {invalid}")),
    }
}

/// Holds a document that is never changed against the hash in its name.
fn unaltered(entry: &Entry, id: &DocumentId) -> Taken {
    let value: Value = entry.document.read().unwrap_or_default();
    match DocumentId::of(id.number(), &value) == *id {
        true => Ok(()),
        false => {
            suspect(entry, Rule::Altered, "it was changed after it was written: its hash is another one")
        }
    }
}

/// Why these parts make no logical cloud; none when they do.
fn broken(place: &Place, parts: &[&Part]) -> Option<String> {
    let parts = parts.iter().map(|part| (part.kind, part.spec.clone()));
    // What serde says could show what is in them.
    let Ok(draft) = join(parts) else { return Some("one of them has other members".to_owned()) };
    LogicalCloud::without_warnings(place.project.clone(), place.uid, draft)
        .err()
        .map(|refused| refused.to_string())
}
