//! Deleting logical clouds that are on clusters: they are taken off first.
//!
//! The root says who wants it deleted. Whoever tends clouds deletes it once it is off its clusters; an apply takes the wish
//! back.

use std::future::ready;

use futures::StreamExt as _;
use futures::stream::BoxStream;

use crate::audit::Told;
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::{About, Action, Outcome};
use crate::port::store::{Change as Written, Version};
use crate::port::synchronizer::Removal;
use crate::status::Intent;

use super::audited::about;
use super::caller::{Caller, Change};
use super::delete::{clear, mark};
use super::documents::{Root, RootDocument, read};
use super::error::Error;
use super::load::{self, Found};
use super::logical_clouds::LogicalClouds;
use super::path::{self, Place};
use super::precondition::{EditId, Precondition};

/// How many clouds that are to be deleted are told of at once.
const TOLD_AT_ONCE_MAX: usize = 1024;

/// What became of a logical cloud that is to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// It was on no cluster, and is deleted.
    Deleted,
    /// It is being taken off its clusters, and is deleted then.
    Leaving,
}

/// What a look at a cloud that is to be deleted gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeenOff {
    /// It is deleted now.
    Deleted,
    /// It is not off its clusters yet, or another worker deletes it.
    NotYet,
    /// It is gone, or to stay after all.
    Settled,
}

impl Told for SeenOff {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Deleted => Outcome::Accepted { generation: None },
            Self::NotYet | Self::Settled => Outcome::Unchanged,
        }
    }
}

impl LogicalClouds {
    /// Deletes a logical cloud, under a condition: at once where it is on no cluster, and otherwise once it is taken off them. That
    /// is for whoever [tends](Self::tend) clouds, so a cloud that is applied again before stays.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::PreconditionFailed`]; errors of the store and the synchronizer.
    pub async fn delete_when_off(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        removal: Removal,
        condition: &Precondition<EditId>,
    ) -> Result<Departure, Error> {
        let is_off = match load::standing(&*self.documents, project, cloud).await {
            Ok((place, root, _)) => self.may_be_deleted(&place, &root).await?,
            // What there is of it a deletion finds, too.
            Err(Error::NotFound { .. }) => true,
            Err(error) => return Err(error),
        };
        if is_off {
            match self.delete_if(caller, project, cloud, condition).await {
                // Applied since.
                Err(Error::WrongState(_)) => {}
                deleted => return deleted.map(|()| Departure::Deleted),
            }
        }
        let detail = serde_json::to_string(&removal).unwrap_or_default();
        let about = About { detail, ..about(project, cloud) };
        let leaving = self.terminate_once(caller, project, cloud, removal, Some(condition));
        match self.audited(caller, Action::Terminate, about, leaving).await? {
            Some(_) => Ok(Departure::Leaving),
            // The synchronizer never had it.
            None => self.delete_if(caller, project, cloud, condition).await.map(|()| Departure::Deleted),
        }
    }

    /// Deletes a cloud that is to be deleted, if it is off its clusters.
    pub(super) async fn see_off(&self, place: &Place, wanted: &Change) -> Result<SeenOff, Error> {
        let found = load::find(&*self.documents, &place.project, &place.cloud).await?;
        let (root, version) = match found {
            Found::Standing(found, root, version) if found == *place && root.leaving.is_some() => {
                (root, version)
            }
            _ => return Ok(SeenOff::Settled),
        };
        if !self.may_be_deleted(place, &root).await? {
            return match self.remove_again(place, &root).await {
                // Applied meanwhile: it stays.
                Err(error) if !error.is_lost_race() => Err(error),
                _ => Ok(SeenOff::NotYet),
            };
        }
        let caller = Caller::new(&wanted.by).because(&wanted.why).with_request_id(&wanted.request_id);
        let deleting = async {
            let version = match mark(&*self.documents, place, version, self.change(&caller)).await {
                Ok(version) => version,
                // Another worker deletes it, or somebody has changed it: it is looked at again.
                Err(error) if error.is_lost_race() => return Ok(SeenOff::NotYet),
                Err(error) => return Err(error),
            };
            self.finish_deleting(place, version, root.removal).await?;
            Ok(SeenOff::Deleted)
        };
        self.audited(&caller, Action::Delete, about(&place.project, &place.cloud), deleting).await
    }

    /// Removes what is left of a logical cloud that is marked as deleted. Unlike `Synchronizer::forget`, this waits for no worker that lags
    /// behind.
    pub(super) async fn finish_deleting(
        &self,
        place: &Place,
        version: Version,
        removal: Removal,
    ) -> Result<(), Error> {
        // Before its root goes: afterwards only a sweep would know of it.
        self.synchronizer.discard(&place.context_id(), removal).await.map_err(Error::Synchronizer)?;
        clear(&*self.documents, place, version, self.clock.now()).await
    }

    /// Tells the synchronizer to take a terminated cloud off its clusters, if it does not know yet: the process that terminated the cloud
    /// may have died before. If the cloud was applied meanwhile, that apply is handed over again, and the race is lost.
    pub(super) async fn remove_again(&self, place: &Place, root: &Root) -> Result<(), Error> {
        let id = place.context_id();
        let status = self.synchronizer.status(&id).await.map_err(Error::Synchronizer)?;
        if root.newest().is_some() || status.is_none_or(|status| status.intent == Intent::Absent) {
            return Ok(());
        }
        self.synchronizer.remove(&id, root.removal).await.map_err(Error::Synchronizer)?;
        if let Some((root, _)) = self.found(place).await?
            && let Some(newest) = root.newest()
        {
            self.finish_applying(place, &root, newest).await?;
            return Err(Error::lost_race(place.root()));
        }
        self.synchronizer.resume(&id).await.map_err(Error::Synchronizer)
    }

    /// Tells when a logical cloud is to be deleted that is on clusters, so that it is tended at once. Ends when the store does not
    /// tell any more.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn departures(&self) -> Result<BoxStream<'static, ()>, Error> {
        let changes = self.documents.watch(&path::all_roots()).await?;
        let is_leaving = |change: &Written| match change {
            Written::Put(entry) => {
                matches!(read(entry), Ok(RootDocument::Standing(root)) if root.leaving.is_some())
            }
            Written::Deleted(_) | Written::Lost => false,
        };
        let told = changes.take_while(|change| ready(*change != Written::Lost));
        let leaving = told.filter_map(move |change| ready(is_leaving(&change).then_some(())));
        Ok(leaving.ready_chunks(TOLD_AT_ONCE_MAX).map(drop).boxed())
    }
}
