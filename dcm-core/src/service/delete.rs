//! Deleting a logical cloud: all its documents, and what the synchronizer recorded of it.
//!
//! The root says first that the cloud is gone; from then on nobody sees it, and whoever finds it so finishes the work.

use jiff::Timestamp;

use crate::logical_cloud::life_cycle::Operation;
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::Action;
use crate::port::store::{self, Document, Store, StoreExt, Version, Write};
use crate::port::synchronizer::Removal;

use super::audited::about;
use super::caller::{Caller, Change};
use super::documents::{Root, RootDocument, SCHEMA};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES, Found};
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::precondition::{EditId, Precondition};
use super::sweep::{self, SweepAgenda};
use super::{clean, life};

impl LogicalClouds {
    /// Deletes a logical cloud that is on no cluster.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::WrongState`] while it is on clusters: terminate it first; errors of the store and
    /// the synchronizer.
    pub async fn delete(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<(), Error> {
        self.delete_if(caller, project, cloud, &Precondition::default()).await
    }

    /// The same under a condition.
    ///
    /// # Errors
    /// The same, and [`Error::PreconditionFailed`].
    pub async fn delete_if(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        condition: &Precondition<EditId>,
    ) -> Result<(), Error> {
        let deleting = self.delete_tries(caller, project, cloud, condition);
        self.audited(caller, Action::Delete, about(project, cloud), deleting).await?;
        // It is deleted by now. What is not swept here is swept by a worker, or by whoever deletes the next one.
        drop(self.sweep(&mut SweepAgenda::default()).await);
        Ok(())
    }

    async fn delete_tries(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        condition: &Precondition<EditId>,
    ) -> Result<(), Error> {
        for _ in 0..CONTENTION_TRIES {
            let now = self.clock.now();
            let found = load::find(&*self.documents, project, cloud).await?;
            condition.check(Kind::LogicalCloud, cloud, found.edit_id().as_ref())?;
            let (place, version) = match found {
                Found::Nothing => return Err(Error::no_cloud(project, cloud)),
                Found::Deleting(place, version) => {
                    return self.finish_deleting(&place, version, Removal::default()).await;
                }
                Found::Reserved(place, version) => (place, version),
                Found::Standing(place, root, version) => {
                    self.forget(&place, &root).await?;
                    (place, version)
                }
            };
            match mark(&*self.documents, &place, version, self.change(caller)).await {
                Ok(version) => return clear(&*self.documents, &place, version, now).await,
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::contended(Kind::LogicalCloud, cloud))
    }

    /// True when a cloud is on no cluster.
    pub(super) async fn may_be_deleted(&self, place: &Place, root: &Root) -> Result<bool, Error> {
        let life = self.life(place, root, false, root.references).await?;
        Ok(life.allows(Operation::Delete).is_ok())
    }

    /// Lets the synchronizer forget a cloud that is on no cluster.
    pub(super) async fn forget(&self, place: &Place, root: &Root) -> Result<(), Error> {
        let id = place.context_id();
        let status = self.synchronizer.status(&id).await.map_err(Error::Synchronizer)?;
        life::of(root, status.as_ref(), false, root.references).allows(Operation::Delete)?;
        if status.is_some() {
            self.synchronizer.forget(&id).await.map_err(Error::Synchronizer)?;
        }
        Ok(())
    }
}

/// Says that a cloud is gone, if its root still has this version.
pub(super) async fn mark(
    store: &dyn Store,
    place: &Place,
    version: Version,
    changed: Change,
) -> Result<Version, Error> {
    let deleting = RootDocument::Deleting { schema: SCHEMA, uid: place.uid, changed };
    let document = Document::from_value(&deleting)?;
    Ok(store.write_one(Write::Update { path: place.root(), version, document }).await?)
}

/// Removes all that is left of a cloud that is marked as gone, the mark last. What comes later is found by the next sweep.
pub(super) async fn clear(
    store: &dyn Store,
    place: &Place,
    version: Version,
    now: Timestamp,
) -> Result<(), Error> {
    sweep::remember(store, place, now).await?;
    clean::everything(store, place).await?;
    match store.write_one(Write::Delete { path: place.root(), version }).await {
        // Somebody else finished it.
        Ok(_) | Err(store::Error::Conflict { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
