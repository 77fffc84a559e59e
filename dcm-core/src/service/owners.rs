//! What owns others: projects own logical clouds, and cluster providers own registered clusters. An owner has a name and
//! notes, and goes only when it owns nothing.

mod kinds;

use std::marker::PhantomData;
use std::sync::Arc;

use futures::stream::{self, StreamExt as _};

use crate::audit::Told;
use crate::logical_cloud::{Metadata, MetadataDraft};
use crate::port::audit::{Action, AuditLog};
use crate::port::clock::Clock;
use crate::port::store::{Document, PageRequest, Store, StoreExt, Version, Write};

use super::audited::{Audit, kept_in};
use super::caller::{Caller, Change};
use super::documents::{OwnerDocument, SCHEMA, read};
use super::error::Error;
use super::load::{self, CONTENTION_TRIES};
use super::precondition::{Precondition, Revision};
use super::put::EditOutcome;
use super::registrations::READS_AT_ONCE;
use crate::port::schema::Broken;
pub use kinds::{OfClouds, OfClusters, OwnerKind};

/// The use cases of projects. Cheap to clone.
pub type Projects = Owners<OfClouds>;

/// The use cases of cluster providers. Cheap to clone.
pub type Providers = Owners<OfClusters>;

/// A project.
pub type Project = Owner<OfClouds>;

/// A cluster provider.
pub type Provider = Owner<OfClusters>;

/// The use cases of one kind of owners. Cheap to clone.
#[derive(Clone)]
pub struct Owners<K> {
    documents: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    audit: Audit,
    kind: PhantomData<K>,
}

/// An owner: a project or a cluster provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner<K: OwnerKind> {
    /// Its name, and what people wrote about it.
    pub metadata: Metadata<K::Name>,
    /// Who made it.
    pub created: Change,
    /// Who changed it last.
    pub changed: Change,
    /// Names this state of it.
    pub revision: Revision,
}

/// Some owners of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerPage<K: OwnerKind> {
    /// The owners, in the order of their names.
    pub owners: Vec<Owner<K>>,
    /// Those that can't be read.
    pub broken: Vec<Broken>,
    /// Where to go on; none when this was the last page.
    pub next: Option<K::Name>,
}

impl<K: OwnerKind> Owners<K> {
    /// Owners in a store of documents: the one of what they own.
    #[must_use]
    pub fn new(documents: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { documents, clock, audit: None, kind: PhantomData }
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
        name: &K::Name,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        kept_in(&self.audit, &*self.clock, caller, (action, K::about(name)), call).await
    }

    /// Makes one.
    ///
    /// # Errors
    /// [`Error::AlreadyThere`], also when it is the same; [`Error::Refused`]; [`Error::Store`].
    pub async fn create(&self, caller: &Caller, draft: MetadataDraft) -> Result<Owner<K>, Error> {
        let metadata: Metadata<K::Name> = draft.try_into()?;
        let name = metadata.name.clone();
        self.audited(caller, K::PUT, &name, self.create_once(caller, metadata)).await
    }

    async fn create_once(&self, caller: &Caller, metadata: Metadata<K::Name>) -> Result<Owner<K>, Error> {
        let name = metadata.name.clone();
        let created = caller.change(self.clock.now());
        let changed = created.clone();
        let metadata = metadata.into();
        let document = OwnerDocument { schema: SCHEMA, metadata, created, changed, deleting: false };
        match self.write(&name, None, &document).await {
            Ok(_) => owner(document),
            Err(error) if error.is_lost_race() => {
                Err(Error::AlreadyThere { kind: K::KIND, name: name.to_string() })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes one, or changes what is written about it.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn put(&self, caller: &Caller, draft: MetadataDraft) -> Result<(Owner<K>, EditOutcome), Error> {
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
    ) -> Result<(Owner<K>, EditOutcome), Error> {
        let metadata: Metadata<K::Name> = draft.try_into()?;
        let name = metadata.name.clone();
        self.audited(caller, K::PUT, &name, self.put_tries(caller, metadata, condition)).await
    }

    /// Keeps the one of this name: makes it where there is none, and takes back that it is about to go.
    pub(super) async fn keep(&self, caller: &Caller, name: &K::Name) -> Result<(), Error> {
        let stored = self.stored(name).await?.map(|(document, _)| document.metadata);
        let named = || MetadataDraft { name: name.to_string(), ..MetadataDraft::default() };
        let metadata = stored.unwrap_or_else(named).try_into()?;
        self.put_tries(caller, metadata, &Precondition::default()).await.map(drop)
    }

    async fn put_tries(
        &self,
        caller: &Caller,
        metadata: Metadata<K::Name>,
        condition: &Precondition<Revision>,
    ) -> Result<(Owner<K>, EditOutcome), Error> {
        let name = metadata.name.clone();
        for _ in 0..CONTENTION_TRIES {
            let stored = self.stored(&name).await?;
            condition.check(K::KIND, &name, revision_of(stored.as_ref()).as_ref())?;
            let changed = caller.change(self.clock.now());
            let (created, outcome) = match &stored {
                Some((old, _)) if old.metadata == metadata.clone().into() && !old.deleting => {
                    return Ok((owner(old.clone())?, EditOutcome::Unchanged));
                }
                Some((old, _)) => (old.created.clone(), EditOutcome::Changed),
                None => (changed.clone(), EditOutcome::Created),
            };
            let metadata = metadata.clone().into();
            let document = OwnerDocument { schema: SCHEMA, metadata, created, changed, deleting: false };
            match self.write(&name, stored.map(|(_, version)| version), &document).await {
                Ok(_) => return Ok((owner(document)?, outcome)),
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(K::KIND, name))
    }

    /// One of them.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Store`].
    pub async fn get(&self, name: &K::Name) -> Result<Owner<K>, Error> {
        let missing = || Error::not_found(K::KIND, name);
        let (document, _) = self.stored(name).await?.ok_or_else(missing)?;
        owner(document)
    }

    /// Some of them, in the order of their names: at most `limit` after `after`, and whether there are more.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, after: Option<&K::Name>, limit: Option<usize>) -> Result<OwnerPage<K>, Error> {
        let request = PageRequest { after: after.map(K::path), limit };
        let page = self.documents.list(&K::all(), &request).await?;
        let (mut owners, mut broken) = (Vec::with_capacity(page.entries.len()), Vec::new());
        for entry in &page.entries {
            match read(entry).and_then(owner) {
                Ok(owner) => owners.push(owner),
                Err(error) => broken.push(Broken::new(&entry.path, &error)),
            }
        }
        Ok(OwnerPage { owners, broken, next: page.next.as_ref().and_then(K::of_path) })
    }

    /// Those of given names, which come in their order, that are there: at most `limit` after `after`, and whether there may be
    /// more. Nothing is told of any other one.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list_of(
        &self,
        names: &[K::Name],
        after: Option<&K::Name>,
        limit: Option<usize>,
    ) -> Result<OwnerPage<K>, Error> {
        let begin = after.map_or(0, |after| names.partition_point(|name| name <= after));
        let limit = limit.unwrap_or(usize::MAX);
        let (mut owners, mut broken, mut next) = (Vec::new(), Vec::new(), None);
        let names = names.get(begin..).unwrap_or_default();
        let reads: Vec<_> = names.iter().map(|name| self.get(name)).collect();
        let mut reads = stream::iter(reads).buffered(READS_AT_ONCE);
        for name in names {
            if owners.len() + broken.len() >= limit {
                return Ok(OwnerPage { owners, broken, next });
            }
            match reads.next().await {
                Some(Ok(owner)) => owners.push(owner),
                Some(Err(Error::NotFound { .. })) | None => {}
                Some(Err(error)) if error.is_retryable() => return Err(error),
                Some(Err(error)) => broken.push(Broken::new(&K::path(name), &error)),
            }
            next = Some(name.clone());
        }
        Ok(OwnerPage { owners, broken, next: None })
    }

    /// Deletes one that owns nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotEmpty`]; [`Error::Contended`]; [`Error::Store`].
    pub async fn delete(&self, caller: &Caller, name: &K::Name) -> Result<(), Error> {
        self.delete_if(caller, name, &Precondition::default()).await
    }

    /// The same under a condition.
    ///
    /// # Errors
    /// The same, and [`Error::PreconditionFailed`].
    pub async fn delete_if(
        &self,
        caller: &Caller,
        name: &K::Name,
        condition: &Precondition<Revision>,
    ) -> Result<(), Error> {
        let deleting = load::contending(K::KIND, name, || self.delete_once(caller, name, condition));
        self.audited(caller, K::DELETE, name, deleting).await
    }

    /// Marks it first: who makes something in it looks at the mark after it is made, so that one of the two sees the other.
    async fn delete_once(
        &self,
        caller: &Caller,
        name: &K::Name,
        condition: &Precondition<Revision>,
    ) -> Result<(), Error> {
        let stored = self.stored(name).await?;
        condition.check(K::KIND, name, revision_of(stored.as_ref()).as_ref())?;
        let (document, version) = stored.ok_or_else(|| Error::not_found(K::KIND, name))?;
        let marked = OwnerDocument { deleting: true, ..document.clone() };
        let version = self.write(name, Some(version), &marked).await?;
        let change = caller.change(self.clock.now());
        if let Err(error) = K::clear(&*self.documents, name, &change, self.clock.now()).await {
            // What was read may have the mark of an earlier try that was cut off.
            let kept = OwnerDocument { deleting: false, ..document };
            self.write(name, Some(version), &kept).await?;
            return Err(error);
        }
        self.documents.write_one(Write::Delete { path: K::path(name), version }).await?;
        Ok(())
    }

    async fn stored(&self, name: &K::Name) -> Result<Option<(OwnerDocument, Version)>, Error> {
        match self.documents.get(&K::path(name)).await? {
            Some(entry) => Ok(Some((read(&entry)?, entry.version))),
            None => Ok(None),
        }
    }

    async fn write(
        &self,
        name: &K::Name,
        version: Option<Version>,
        document: &OwnerDocument,
    ) -> Result<Version, Error> {
        let (path, document) = (K::path(name), Document::from_value(document)?);
        let write = match version {
            Some(version) => Write::Update { path, version, document },
            None => Write::Create { path, document },
        };
        Ok(self.documents.write_one(write).await?)
    }
}

/// Refuses what belongs to an owner that is not there, or is being deleted.
pub(super) async fn must_exist<K: OwnerKind>(store: &dyn Store, name: &K::Name) -> Result<(), Error> {
    let missing = || Error::not_found(K::KIND, name);
    let entry = store.get(&K::path(name)).await?.ok_or_else(missing)?;
    let document: OwnerDocument = read(&entry)?;
    if document.deleting { Err(missing()) } else { Ok(()) }
}

/// What is stored follows the rules of names, or is damaged.
fn owner<K: OwnerKind>(document: OwnerDocument) -> Result<Owner<K>, Error> {
    let revision = document.revision();
    let OwnerDocument { metadata, created, changed, .. } = document;
    Ok(Owner { metadata: metadata.try_into()?, created, changed, revision })
}

fn revision_of(stored: Option<&(OwnerDocument, Version)>) -> Option<Revision> {
    stored.map(|(document, _)| document.revision())
}
