//! Logical clouds, at a store or at a server.

use std::collections::BTreeMap;

use dcm_client::{Event, Listed, LogicalClouds as Remote};
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::logical_cloud::life_cycle::State;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName, UserName};
use dcm_core::port::synchronizer::Removal;
use dcm_core::service::{self, Caller, CloudProgress, CloudStatus, Kind, LogicalClouds, Renewed, Revoked};
use dcm_core::status::{LaneState, LaneStatus, Progress};
use dcm_core::subject::Subject;
use futures::stream::{BoxStream, StreamExt as _};

use super::{Error, last_segment};
use crate::work::End;

/// The logical clouds of a store or of a server.
#[derive(Clone, Copy)]
pub(crate) enum Clouds<'a> {
    Here(&'a LogicalClouds, &'a Caller),
    There(Remote<'a>),
}

/// How far a logical cloud is at a moment, as it is followed.
pub(crate) struct Moment {
    pub(crate) lanes: BTreeMap<ClusterId, LaneStatus>,
    /// How the work has ended; none while it goes on.
    pub(crate) end: Option<End>,
}

/// How far a logical cloud is, as it comes. It ends when whoever tells it does: then it is to be followed again.
pub(crate) type Moments = BoxStream<'static, Result<Moment, Error>>;

impl Clouds<'_> {
    /// The names of all logical clouds of a project, those that can't be read included: whoever reads one is told why. A project
    /// that nothing was put into yet has none.
    pub(crate) async fn names(&self, project: &ProjectName) -> Result<Vec<LogicalCloudName>, Error> {
        let listed = match self {
            Self::Here(clouds, _) => listed(clouds, project).await.map_err(Error::from),
            Self::There(clouds) => match clouds.list(project).await {
                Ok(Listed { items, broken }) => {
                    let names = items.into_iter().map(|one| one.metadata.name);
                    Ok(names.chain(broken.iter().map(|one| last_segment(&one.path).to_owned())).collect())
                }
                Err(error) => Err(Error::from(error)),
            },
        };
        match listed {
            Err(error) if error.is_of_no(Kind::Project) => Ok(Vec::new()),
            listed => Ok(listed?.iter().filter_map(|name| LogicalCloudName::new(name).ok()).collect()),
        }
    }

    /// How far a logical cloud is.
    pub(crate) async fn status(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<CloudStatus, Error> {
        Ok(match self {
            Self::Here(clouds, _) => clouds.status(project, cloud).await?,
            Self::There(clouds) => clouds.status(project, cloud).await?,
        })
    }

    /// A logical cloud as its documents are.
    pub(crate) async fn get(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<LogicalCloud, Error> {
        match self {
            Self::Here(clouds, _) => Ok(clouds.get(project, cloud).await?.cloud),
            Self::There(clouds) => Ok(clouds.get(project, cloud).await?),
        }
    }

    /// Follows a logical cloud that is on clusters, or was. One whose apply was cut off before the engine had it, and that is taken away
    /// again, is on none: then there is nothing to follow.
    pub(crate) async fn follow(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Option<Moments>, Error> {
        match self {
            Self::Here(clouds, _) => match clouds.watch(project, cloud).await {
                Err(service::Error::NotApplied { .. }) => Ok(None),
                watched => Ok(Some(watched?.map(|told| Ok(Moment::of_progress(told?))).boxed())),
            },
            Self::There(clouds) => {
                let events = clouds.follow(project, cloud).await?;
                let moment = |event| async {
                    match event {
                        Ok(Event::Status(status)) => Some(Ok(Moment::of_status(*status))),
                        Ok(Event::Deleted) => None,
                        Err(error) => Some(Err(Error::from(error))),
                    }
                };
                Ok(Some(events.filter_map(moment).boxed()))
            }
        }
    }

    /// The subject that a user's own certificate request must have.
    pub(crate) async fn subject(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Subject, Error> {
        Ok(match self {
            Self::Here(clouds, _) => clouds.subject(project, cloud, user).await?,
            Self::There(clouds) => clouds.subject(project, cloud, user).await?,
        })
    }

    /// Renews credentials.
    pub(crate) async fn renew(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
    ) -> Result<Renewed, Error> {
        Ok(match self {
            Self::Here(clouds, caller) => clouds.renew(caller, project, cloud, user).await?,
            Self::There(clouds) => clouds.renew(project, cloud, user).await?,
        })
    }

    /// Takes away every right of what was issued to a user.
    pub(crate) async fn revoke(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Revoked, Error> {
        Ok(match self {
            Self::Here(clouds, caller) => clouds.revoke(caller, project, cloud, user).await?,
            Self::There(clouds) => clouds.revoke(project, cloud, user).await?,
        })
    }

    /// Takes a logical cloud off its clusters.
    pub(crate) async fn terminate(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        removal: Removal,
    ) -> Result<(), Error> {
        match self {
            Self::Here(clouds, caller) => clouds.terminate(caller, project, cloud, removal).await?,
            Self::There(clouds) => clouds.terminate(project, cloud, removal).await?,
        }
        Ok(())
    }

    /// Goes on with what is paused.
    pub(crate) async fn resume(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        match self {
            Self::Here(clouds, caller) => clouds.resume(caller, project, cloud).await?,
            Self::There(clouds) => clouds.resume(project, cloud).await?,
        }
        Ok(())
    }

    /// Takes what is stored as the truth.
    pub(crate) async fn reconcile(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<(), Error> {
        match self {
            Self::Here(clouds, caller) => drop(clouds.reconcile(caller, project, cloud).await?),
            Self::There(clouds) => clouds.reconcile(project, cloud).await?,
        }
        Ok(())
    }

    /// Deletes a logical cloud that is on no cluster.
    pub(crate) async fn delete(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        match self {
            Self::Here(clouds, caller) => clouds.delete(caller, project, cloud).await?,
            Self::There(clouds) => clouds.delete(project, cloud).await?,
        }
        Ok(())
    }
}

impl Moment {
    fn of_progress(CloudProgress { context, .. }: CloudProgress) -> Self {
        let end = match context.progress {
            Progress::Done => Some(End::Done),
            Progress::Stuck => Some(End::Stuck),
            Progress::Working if context.paused => Some(End::Stopped),
            Progress::Working => None,
        };
        Self { lanes: context.lanes, end }
    }

    fn of_status(status: CloudStatus) -> Self {
        let lanes = status.clusters.into_iter().filter_map(|(id, cluster)| Some((id, cluster.lane?)));
        let lanes: BTreeMap<_, _> = lanes.collect();
        let is_at_end = |lane: &LaneStatus| {
            matches!(lane.state, LaneState::Done | LaneState::Removed | LaneState::Abandoned)
        };
        let end = match status.state {
            State::Created | State::Instantiated | State::Terminated => Some(End::Done),
            State::Failed(_) => Some(End::Stuck),
            State::Stopped(_) if lanes.values().all(is_at_end) => Some(End::Done),
            State::Stopped(_) => Some(End::Stopped),
            State::Instantiating | State::Updating | State::Terminating => None,
        };
        Self { lanes, end }
    }
}

/// The names of all logical clouds of a project in a store.
async fn listed(clouds: &LogicalClouds, project: &ProjectName) -> Result<Vec<String>, service::Error> {
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = clouds.list(project, after.as_ref(), None).await?;
        names.extend(page.clouds.into_iter().map(|summary| summary.metadata.name));
        names.extend(page.broken.iter().map(|broken| last_segment(broken.path.as_str()).to_owned()));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(names),
        }
    }
}
