//! Projects: the owners of logical clouds.

use std::sync::Arc;

use crate::audit::Told;
use crate::logical_cloud::{Metadata, MetadataDraft};
use crate::name::ProjectName;
use crate::port::audit::{About, Action, AuditLog};
use crate::port::clock::Clock;
use crate::port::store::{Document, PageRequest, Store, StoreExt, Version, Write};

use super::audited::{Audit, kept_in};
use super::broken::Broken;
use super::caller::{Caller, Change};
use super::documents::{ProjectDocument, SCHEMA, read};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES, Found};
use super::precondition::{Precondition, Revision};
use super::put::EditOutcome;
use super::{delete, path};

/// The use cases of projects. Cheap to clone.
#[derive(Clone)]
pub struct Projects {
    documents: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    audit: Audit,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name, and what people wrote about it.
    pub metadata: Metadata<ProjectName>,
    /// Who made it.
    pub created: Change,
    /// Who changed it last.
    pub changed: Change,
    /// Names this state of it.
    pub revision: Revision,
}

/// Some projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPage {
    /// The projects, in the order of their names.
    pub projects: Vec<Project>,
    /// Those that can't be read.
    pub broken: Vec<Broken>,
    /// Where to go on; none when this was the last page.
    pub next: Option<ProjectName>,
}

impl Projects {
    /// Projects in a store of documents: the one of the logical clouds.
    #[must_use]
    pub fn new(documents: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { documents, clock, audit: None }
    }

    /// The same services, whose decisions are kept.
    #[must_use]
    pub fn audited_by(self, log: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(log), ..self }
    }

    async fn audited<T: Told>(
        &self,
        caller: &Caller,
        action: Action,
        project: &ProjectName,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let about = About { project: Some(project.clone()), ..About::default() };
        kept_in(&self.audit, &*self.clock, caller, (action, about), call).await
    }

    /// Makes a project.
    ///
    /// # Errors
    /// [`Error::AlreadyThere`], also when it is the same; [`Error::Refused`]; [`Error::Store`].
    pub async fn create(&self, caller: &Caller, draft: MetadataDraft) -> Result<Project, Error> {
        let metadata: Metadata<ProjectName> = draft.try_into()?;
        let name = metadata.name.clone();
        self.audited(caller, Action::PutProject, &name, self.create_once(caller, metadata)).await
    }

    async fn create_once(&self, caller: &Caller, metadata: Metadata<ProjectName>) -> Result<Project, Error> {
        let name = metadata.name.clone();
        let created = caller.change(self.clock.now());
        let changed = created.clone();
        let metadata = metadata.into();
        let document = ProjectDocument { schema: SCHEMA, metadata, created, changed, deleting: false };
        match self.write(&name, None, &document).await {
            Ok(_) => project(document),
            Err(error) if error.is_lost_race() => {
                Err(Error::AlreadyThere { kind: Kind::Project, name: name.to_string() })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a project, or changes what is written about it.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn put(&self, caller: &Caller, draft: MetadataDraft) -> Result<(Project, EditOutcome), Error> {
        self.put_if(caller, draft, &Precondition::default()).await
    }

    /// The same under a condition.
    ///
    /// # Errors
    /// The same, and [`Error::AlreadyThere`], [`Error::NotFound`] and [`Error::PreconditionFailed`] where the condition does
    /// not hold.
    pub async fn put_if(
        &self,
        caller: &Caller,
        draft: MetadataDraft,
        condition: &Precondition<Revision>,
    ) -> Result<(Project, EditOutcome), Error> {
        let metadata: Metadata<ProjectName> = draft.try_into()?;
        let name = metadata.name.clone();
        self.audited(caller, Action::PutProject, &name, self.put_tries(caller, metadata, condition)).await
    }

    async fn put_tries(
        &self,
        caller: &Caller,
        metadata: Metadata<ProjectName>,
        condition: &Precondition<Revision>,
    ) -> Result<(Project, EditOutcome), Error> {
        let name = metadata.name.clone();
        for _ in 0..CONTENTION_TRIES {
            let stored = self.stored(&name).await?;
            condition.check(Kind::Project, &name, revision_of(stored.as_ref()).as_ref())?;
            let changed = caller.change(self.clock.now());
            let (created, outcome) = match &stored {
                Some((old, _)) if old.metadata == metadata.clone().into() && !old.deleting => {
                    return Ok((project(old.clone())?, EditOutcome::Unchanged));
                }
                Some((old, _)) => (old.created.clone(), EditOutcome::Changed),
                None => (changed.clone(), EditOutcome::Created),
            };
            let metadata = metadata.clone().into();
            let document = ProjectDocument { schema: SCHEMA, metadata, created, changed, deleting: false };
            match self.write(&name, stored.map(|(_, version)| version), &document).await {
                Ok(_) => return Ok((project(document)?, outcome)),
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(Kind::Project, name))
    }

    /// One project.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Store`].
    pub async fn get(&self, name: &ProjectName) -> Result<Project, Error> {
        let missing = || Error::not_found(Kind::Project, name);
        let (document, _) = self.stored(name).await?.ok_or_else(missing)?;
        project(document)
    }

    /// Some projects, in the order of their names: at most `limit` after `after`, and whether there are more.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(
        &self,
        after: Option<&ProjectName>,
        limit: Option<usize>,
    ) -> Result<ProjectPage, Error> {
        let request = PageRequest { after: after.map(path::project), limit };
        let page = self.documents.list(&path::projects(), &request).await?;
        let (mut projects, mut broken) = (Vec::with_capacity(page.entries.len()), Vec::new());
        for entry in &page.entries {
            match read(entry).and_then(project) {
                Ok(project) => projects.push(project),
                Err(error) => broken.push(Broken::new(&entry.path, &error)),
            }
        }
        Ok(ProjectPage { projects, broken, next: page.next.as_ref().and_then(path::of_project) })
    }

    /// Deletes a project without logical clouds.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotEmpty`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn delete(&self, caller: &Caller, name: &ProjectName) -> Result<(), Error> {
        self.delete_if(caller, name, &Precondition::default()).await
    }

    /// The same under a condition.
    ///
    /// # Errors
    /// The same, and [`Error::PreconditionFailed`].
    pub async fn delete_if(
        &self,
        caller: &Caller,
        name: &ProjectName,
        condition: &Precondition<Revision>,
    ) -> Result<(), Error> {
        let deleting = load::contending(Kind::Project, name, || self.delete_once(caller, name, condition));
        self.audited(caller, Action::DeleteProject, name, deleting).await
    }

    /// Marks the project first: who makes a logical cloud looks at the mark after it is made, so that one of the two
    /// sees the other.
    async fn delete_once(
        &self,
        caller: &Caller,
        name: &ProjectName,
        condition: &Precondition<Revision>,
    ) -> Result<(), Error> {
        let stored = self.stored(name).await?;
        condition.check(Kind::Project, name, revision_of(stored.as_ref()).as_ref())?;
        let (document, version) = stored.ok_or_else(|| Error::not_found(Kind::Project, name))?;
        let marked = ProjectDocument { deleting: true, ..document.clone() };
        let version = self.write(name, Some(version), &marked).await?;
        if let Err(error) = self.clear_unfinished(name, &caller.change(self.clock.now())).await {
            // What was read may have the mark of an earlier try that was cut off.
            let kept = ProjectDocument { deleting: false, ..document };
            self.write(name, Some(version), &kept).await?;
            return Err(error);
        }
        self.documents.write_one(Write::Delete { path: path::project(name), version }).await?;
        Ok(())
    }

    /// Finishes deletions and takes back creations that were cut off.
    async fn clear_unfinished(&self, name: &ProjectName, change: &Change) -> Result<(), Error> {
        let store = &*self.documents;
        for entry in store.list_all(&path::roots(name)).await? {
            let Some((project, cloud)) = path::of_root(&entry.path) else { continue };
            match load::found(&project, &cloud, &entry)? {
                Found::Standing(..) => return Err(Error::NotEmpty { project, cloud }),
                Found::Reserved(place, version) => {
                    let version = delete::mark(store, &place, version, change.clone()).await?;
                    delete::clear(store, &place, version, self.clock.now()).await?;
                }
                Found::Deleting(place, version) => {
                    delete::clear(store, &place, version, self.clock.now()).await?;
                }
                Found::Nothing => {}
            }
        }
        Ok(())
    }

    async fn stored(&self, name: &ProjectName) -> Result<Option<(ProjectDocument, Version)>, Error> {
        match self.documents.get(&path::project(name)).await? {
            Some(entry) => Ok(Some((read(&entry)?, entry.version))),
            None => Ok(None),
        }
    }

    async fn write(
        &self,
        name: &ProjectName,
        version: Option<Version>,
        document: &ProjectDocument,
    ) -> Result<Version, Error> {
        let (path, document) = (path::project(name), Document::from_value(document)?);
        let write = match version {
            Some(version) => Write::Update { path, version, document },
            None => Write::Create { path, document },
        };
        Ok(self.documents.write_one(write).await?)
    }
}

/// Refuses what belongs to a project that is not there, or is being deleted.
pub(super) async fn must_exist(store: &dyn Store, project: &ProjectName) -> Result<(), Error> {
    let missing = || Error::not_found(Kind::Project, project);
    let entry = store.get(&path::project(project)).await?.ok_or_else(missing)?;
    let document: ProjectDocument = read(&entry)?;
    if document.deleting { Err(missing()) } else { Ok(()) }
}

fn project(document: ProjectDocument) -> Result<Project, Error> {
    let revision = document.revision();
    let ProjectDocument { metadata, created, changed, .. } = document;
    Ok(Project { metadata: metadata.try_into()?, created, changed, revision })
}

fn revision_of(stored: Option<&(ProjectDocument, Version)>) -> Option<Revision> {
    stored.map(|(document, _)| document.revision())
}
