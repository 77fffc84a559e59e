//! Records of controllers.

use std::sync::Arc;

use crate::audit::Told;
use crate::controller::{ControllerDraft, ControllerGroup, ControllerRecord};
use crate::logical_cloud::MetadataDraft;
use crate::name::ControllerName;
use crate::port::audit::{About, Action, AuditLog};
use crate::port::clock::Clock;
use crate::port::schema::Broken;
use crate::port::store::{Document, PageRequest, Store, StoreExt, Version, Write};

use super::audited::{Audit, kept_in};
use super::caller::{Caller, Change};
use super::documents::{ControllerDocument, SCHEMA, read};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES};
use super::path;
use super::precondition::{Precondition, Revision};
use super::put::EditOutcome;

/// The use cases of controllers' records. Cheap to clone.
#[derive(Clone)]
pub struct Controllers {
    documents: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    audit: Audit,
}

/// A controller that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// Who calls it.
    pub group: ControllerGroup,
    /// What is recorded of it.
    pub record: ControllerRecord,
    /// Who made the record.
    pub created: Change,
    /// Who changed it last.
    pub changed: Change,
    /// Names this state of it.
    pub revision: Revision,
}

/// Some controllers of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerPage {
    /// The controllers, in the order of their names.
    pub controllers: Vec<Controller>,
    /// Those that can't be read.
    pub broken: Vec<Broken>,
    /// Where to go on; none when this was the last page.
    pub next: Option<ControllerName>,
}

impl Controllers {
    /// Controllers in a store of documents.
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
        (group, name): (ControllerGroup, &ControllerName),
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let about = About { detail: format!("{group} {name}"), ..About::default() };
        kept_in(&self.audit, &*self.clock, caller, (action, about), call).await
    }

    /// Records a controller, or changes what is recorded of it, under a condition.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`Error::AlreadyThere`], [`Error::NotFound`] and [`Error::PreconditionFailed`] where the condition
    /// does not hold; [`Error::Contended`]; [`Error::Store`].
    pub async fn put(
        &self,
        caller: &Caller,
        group: ControllerGroup,
        draft: ControllerDraft,
        condition: &Precondition<Revision>,
    ) -> Result<(Controller, EditOutcome), Error> {
        let record = ControllerRecord::try_from(draft)?;
        let name = record.metadata.name.clone();
        let putting = self.put_tries(caller, group, record, condition);
        self.audited(caller, Action::PutController, (group, &name), putting).await
    }

    async fn put_tries(
        &self,
        caller: &Caller,
        group: ControllerGroup,
        record: ControllerRecord,
        condition: &Precondition<Revision>,
    ) -> Result<(Controller, EditOutcome), Error> {
        let name = record.metadata.name.clone();
        let (metadata, spec) = (MetadataDraft::from(record.metadata), record.spec);
        for _ in 0..CONTENTION_TRIES {
            let stored = self.stored(group, &name).await?;
            let revision = stored.as_ref().map(|(document, _)| document.revision());
            condition.check(Kind::Controller, &name, revision.as_ref())?;
            let changed = caller.change(self.clock.now());
            let (created, outcome) = match &stored {
                Some((old, _)) if (&old.metadata, &old.spec) == (&metadata, &spec) => {
                    return Ok((controller(old.clone())?, EditOutcome::Unchanged));
                }
                Some((old, _)) => (old.created.clone(), EditOutcome::Changed),
                None => (changed.clone(), EditOutcome::Created),
            };
            let (metadata, spec) = (metadata.clone(), spec.clone());
            let document = ControllerDocument { schema: SCHEMA, group, metadata, spec, created, changed };
            match self.write(&name, stored.map(|(_, version)| version), &document).await {
                Ok(()) => return Ok((controller(document)?, outcome)),
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(Kind::Controller, name))
    }

    /// One controller.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Store`].
    pub async fn get(&self, group: ControllerGroup, name: &ControllerName) -> Result<Controller, Error> {
        let missing = || Error::not_found(Kind::Controller, name);
        let (document, _) = self.stored(group, name).await?.ok_or_else(missing)?;
        controller(document)
    }

    /// Some controllers of a group, after the one of this name: at most `limit`, or as many as the store gives at once.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(
        &self,
        group: ControllerGroup,
        after: Option<&ControllerName>,
        limit: Option<usize>,
    ) -> Result<ControllerPage, Error> {
        let request = PageRequest { after: after.map(|name| path::controller(group, name)), limit };
        let page = self.documents.list(&path::controllers(group), &request).await?;
        let (mut controllers, mut broken) = (Vec::with_capacity(page.entries.len()), Vec::new());
        for entry in &page.entries {
            match read(entry).and_then(controller) {
                Ok(controller) => controllers.push(controller),
                Err(error) => broken.push(Broken::new(&entry.path, &error)),
            }
        }
        let next = page.next.as_ref().and_then(path::of_controller).map(|(_, name)| name);
        Ok(ControllerPage { controllers, broken, next })
    }

    /// Deletes the record of a controller, under a condition.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::PreconditionFailed`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn delete(
        &self,
        caller: &Caller,
        group: ControllerGroup,
        name: &ControllerName,
        condition: &Precondition<Revision>,
    ) -> Result<(), Error> {
        let deleting = load::contending(Kind::Controller, name, || self.delete_once(group, name, condition));
        self.audited(caller, Action::DeleteController, (group, name), deleting).await
    }

    async fn delete_once(
        &self,
        group: ControllerGroup,
        name: &ControllerName,
        condition: &Precondition<Revision>,
    ) -> Result<(), Error> {
        let stored = self.stored(group, name).await?;
        let revision = stored.as_ref().map(|(document, _)| document.revision());
        condition.check(Kind::Controller, name, revision.as_ref())?;
        let (_, version) = stored.ok_or_else(|| Error::not_found(Kind::Controller, name))?;
        let path = path::controller(group, name);
        self.documents.write_one(Write::Delete { path, version }).await?;
        Ok(())
    }

    async fn stored(
        &self,
        group: ControllerGroup,
        name: &ControllerName,
    ) -> Result<Option<(ControllerDocument, Version)>, Error> {
        match self.documents.get(&path::controller(group, name)).await? {
            Some(entry) => Ok(Some((read(&entry)?, entry.version))),
            None => Ok(None),
        }
    }

    async fn write(
        &self,
        name: &ControllerName,
        version: Option<Version>,
        document: &ControllerDocument,
    ) -> Result<(), Error> {
        let (path, document) = (path::controller(document.group, name), Document::from_value(document)?);
        let write = match version {
            Some(version) => Write::Update { path, version, document },
            None => Write::Create { path, document },
        };
        self.documents.write_one(write).await?;
        Ok(())
    }
}

/// What is stored follows the rules of names, or is damaged.
fn controller(document: ControllerDocument) -> Result<Controller, Error> {
    let revision = document.revision();
    let ControllerDocument { group, metadata, spec, created, changed, .. } = document;
    let record = ControllerRecord { metadata: metadata.try_into()?, spec };
    Ok(Controller { group, record, created, changed, revision })
}
