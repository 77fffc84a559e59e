//! Deleting logical clouds that are on clusters: they are taken off first.
//!
//! The root says who wants it deleted. Whoever tends clouds deletes it once it is off its clusters; an apply takes the wish
//! back.

use std::future::ready;

use futures::StreamExt as _;
use futures::stream::BoxStream;

use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::{About, Action};
use crate::port::store::Change as Written;
use crate::port::synchronizer::Removal;

use super::audited::about;
use super::caller::{Caller, Change};
use super::delete::{clear, mark};
use super::documents::{RootDocument, read};
use super::error::{Error, Kind};
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
        match self.delete_if(caller, project, cloud, condition).await {
            Err(Error::WrongState(_)) => {}
            deleted => return deleted.map(|()| Departure::Deleted),
        }
        let detail = serde_json::to_string(&removal).unwrap_or_default();
        let about = About { detail, ..about(project, cloud) };
        let leaving = async {
            let (_, root, _) = load::standing(&*self.documents, project, cloud).await?;
            condition.check(Kind::LogicalCloud, cloud, Some(&root.edit_id()))?;
            self.terminate_once(caller, project, cloud, removal, true).await
        };
        match self.audited(caller, Action::Terminate, about, leaving).await? {
            Some(_) => Ok(Departure::Leaving),
            // The synchronizer never had it.
            None => self.delete_if(caller, project, cloud, condition).await.map(|()| Departure::Deleted),
        }
    }

    /// Deletes a cloud that is to be deleted, if it is off its clusters; false while it is not.
    pub(super) async fn see_off(&self, place: &Place, wanted: &Change) -> Result<bool, Error> {
        let caller = Caller::new(&wanted.by).because(&wanted.why).with_request_id(&wanted.request_id);
        match load::find(&*self.documents, &place.project, &place.cloud).await? {
            Found::Standing(found, root, version) if found == *place && root.leaving.is_some() => {
                if !self.may_be_deleted(place, &root).await? {
                    return Ok(false);
                }
                let deleting = async {
                    self.forget(place, &root).await?;
                    let version = mark(&*self.documents, place, version, self.change(&caller)).await?;
                    clear(&*self.documents, place, version, self.clock.now()).await
                };
                let about = about(&place.project, &place.cloud);
                match self.audited(&caller, Action::Delete, about, deleting).await {
                    // Somebody has changed it meanwhile: it is looked at again.
                    Err(error) if error.is_lost_race() => Ok(false),
                    deleted => deleted.map(|()| true),
                }
            }
            _ => Ok(true),
        }
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
