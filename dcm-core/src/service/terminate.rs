//! Taking a logical cloud off its clusters, pausing the work on it, and going on.

use std::time::Duration;

use crate::app_context::Generation;
use crate::logical_cloud::life_cycle::{Allowed, Operation};
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::{About, Action};
use crate::port::synchronizer::{Error as Failure, Removal};

use super::audited::about;
use super::caller::Caller;
use super::documents::Root;
use super::error::{Error, Kind};
use super::load;
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::precondition::{EditId, Precondition};

/// A logical cloud that an operation is allowed on.
struct Operable {
    place: Place,
    allowed: Allowed,
    paused: bool,
}

impl LogicalClouds {
    /// Takes a logical cloud off its clusters. Its documents stay, so it can be applied again. Namespaces with contents
    /// of others are deleted only when the removal says so. May be repeated, also to say it otherwise.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::WrongState`] for one that was never applied; errors of the store and the
    /// synchronizer.
    pub async fn terminate(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        removal: Removal,
    ) -> Result<(), Error> {
        let detail = serde_json::to_string(&removal).unwrap_or_default();
        let about = About { detail, ..about(project, cloud) };
        let terminating = self.terminate_once(caller, project, cloud, removal, None);
        self.audited(caller, Action::Terminate, about, terminating).await.map(drop)
    }

    /// Gives the generation that takes it off; none when the synchronizer never had it. It is deleted then where that is wanted, on a
    /// condition.
    pub(super) async fn terminate_once(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        removal: Removal,
        leaving: Option<&Precondition<EditId>>,
    ) -> Result<Option<Generation>, Error> {
        let operable = self.operable(project, cloud, Operation::Terminate).await?;
        let (place, id) = (&operable.place, operable.place.context_id());
        let change = self.change(caller);
        // First the root: a crash now leaves a cloud on clusters that can be terminated again, and never one that
        // seems to be there and is gone.
        let known = leaving.cloned().unwrap_or_default();
        let is_known = |root: &Root| known.check(Kind::LogicalCloud, cloud, Some(&root.edit_id()));
        let root = self.change_root(place, |root| {
            if is_known(root).is_err() {
                return false;
            }
            let mut wanted = Root {
                applying: None,
                replaced: Vec::new(),
                applied: None,
                ended: root.end(),
                stopped: None,
                terminated: root.terminated.clone().or(Some(change.clone())),
                leaving: root.leaving.clone().or(leaving.map(|_| change.clone())),
                removal,
                ..root.clone()
            };
            if root.terminated.is_none() {
                wanted.remember_termination(change.clone());
            }
            std::mem::replace(root, wanted.clone()) != wanted
        });
        is_known(&root.await?)?;
        match self.synchronizer.remove(&id, removal).await {
            Ok(generation) => {
                if operable.paused {
                    self.synchronizer.resume(&id).await.map_err(Error::Synchronizer)?;
                }
                Ok(Some(generation))
            }
            // An apply that was cut off before the synchronizer took it.
            Err(Failure::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::Synchronizer(error)),
        }
    }

    /// Pauses the work on a logical cloud, whichever it is, and waits until no request of it is under way: then none
    /// begins before it is resumed, applied or terminated.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::WrongState`] when nothing is under way; errors of the store and the synchronizer,
    /// among them the one that after `limit` requests may still be under way: then the work is paused all the same.
    pub async fn stop(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        limit: Duration,
    ) -> Result<(), Error> {
        let stopping = self.stop_once(caller, project, cloud, limit);
        self.audited(caller, Action::Stop, about(project, cloud), stopping).await
    }

    async fn stop_once(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        limit: Duration,
    ) -> Result<(), Error> {
        let operable = self.operable(project, cloud, Operation::Stop).await?;
        let place = &operable.place;
        // First who did it: whoever finds the work paused is told.
        let change = self.change(caller);
        self.change_root(place, |root| {
            if root.stopped.is_some() {
                return false;
            }
            root.stopped = Some(change.clone());
            root.remember_pause(change.clone());
            true
        })
        .await?;
        // Also where it is paused already: whoever asks wants to know that nothing is under way.
        self.synchronizer.stop(&place.context_id(), limit).await.map_err(|error| failed(place, error))
    }

    /// Goes on with what was paused.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::WrongState`] for one that was never applied; errors of the store and the
    /// synchronizer.
    pub async fn resume(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<(), Error> {
        let resuming = self.resume_once(project, cloud);
        self.audited(caller, Action::Resume, about(project, cloud), resuming).await
    }

    async fn resume_once(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        let operable = self.operable(project, cloud, Operation::Resume).await?;
        let place = &operable.place;
        let id = place.context_id();
        match operable.allowed {
            Allowed::AlreadySo => self.synchronizer.look_again(&id).await.map_err(Error::Synchronizer)?,
            _ => self.synchronizer.resume(&id).await.map_err(|error| failed(place, error))?,
        }
        self.change_root(place, |root| root.stopped.take().is_some()).await.map(drop)
    }

    async fn operable(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        operation: Operation,
    ) -> Result<Operable, Error> {
        let (place, root, _) = load::standing(&*self.documents, project, cloud).await?;
        let life = self.life(&place, &root, false, root.references).await?;
        Ok(Operable { place, allowed: life.allows(operation)?, paused: life.paused })
    }
}

pub(super) fn failed(place: &Place, error: Failure) -> Error {
    match error {
        Failure::NotFound { .. } => Error::NotHandedOver { cloud: place.cloud.clone() },
        other => Error::Synchronizer(other),
    }
}
