//! Logical clouds, at a store or at a server.

use std::collections::BTreeMap;
use std::time::Duration;

use dcm_client::{AppliedOutcome, Event, HandedOut, Listed, LogicalClouds as Remote};
use dcm_core::document;
use dcm_core::kubeconfig::Access;
use dcm_core::logical_cloud::life_cycle::State;
use dcm_core::logical_cloud::{Draft, LogicalCloud, LogicalCloudUid};
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, ReferenceName, UserName};
use dcm_core::port::synchronizer::Removal;
use dcm_core::render::naming::Identity;
use dcm_core::secret::Secret;
use dcm_core::service::{
    self, ApplyOutcome, Caller, CloudProgress, CloudStatus, Kind, LogicalClouds, Precondition, Renewed,
    Revoked, ServiceMeshDocument,
};
use dcm_core::status::{LaneState, LaneStatus, Progress};
use dcm_core::subject::Subject;
use dcm_server::{Agreed, Deployment, Installation as _};
use futures::stream::{BoxStream, StreamExt as _};

use super::{Error, last_segment, stopping};
use crate::work::End;

/// The logical clouds of a store or of a server.
#[derive(Clone, Copy)]
pub(crate) enum Clouds<'a> {
    Here(&'a Deployment, &'a Caller),
    There(Remote<'a>),
}

/// What a user has.
pub(crate) struct Handed {
    pub(crate) access: Access,
    /// What was left out, and why.
    pub(crate) left_out: Vec<String>,
}

/// How far a logical cloud is at a moment, as it is followed.
pub(crate) struct Moment {
    pub(crate) lanes: BTreeMap<ClusterId, LaneStatus>,
    /// How the work has ended; none while it goes on.
    pub(crate) end: Option<End>,
}

/// How far a logical cloud is, as it comes. It ends when whoever tells it does: then it is to be followed again.
pub(crate) type Moments = BoxStream<'static, Result<Moment, Error>>;

/// The status of a logical cloud, as it changes.
pub(crate) type Statuses = BoxStream<'static, Result<CloudStatus, Error>>;

impl Clouds<'_> {
    /// The names of all logical clouds of a project, those that can't be read included: whoever reads one is told why. A project
    /// that nothing was put into yet has none.
    pub(crate) async fn names(&self, project: &ProjectName) -> Result<Vec<LogicalCloudName>, Error> {
        let listed = match self {
            Self::Here(store, _) => listed(store.clouds(), project).await.map_err(Error::from),
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
            Self::Here(store, _) => store.clouds().status(project, cloud).await?,
            Self::There(clouds) => clouds.status(project, cloud).await?,
        })
    }

    /// A logical cloud as its documents are, whose status was read.
    pub(crate) async fn get(&self, status: &CloudStatus) -> Result<LogicalCloud, Error> {
        let (project, cloud) = (&status.project, &status.name);
        match self {
            Self::Here(store, _) => Ok(store.clouds().get(project, cloud).await?.cloud),
            Self::There(clouds) => Ok(clouds.get(project, cloud, status.uid).await?),
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
            Self::Here(store, _) => match store.clouds().watch(project, cloud).await {
                Err(service::Error::NotApplied { .. }) => Ok(None),
                watched => Ok(Some(watched?.map(|told| Ok(Moment::of_progress(told?))).boxed())),
            },
            Self::There(clouds) => {
                let statuses = followed(clouds, project, cloud).await?;
                Ok(Some(statuses.map(|told| told.map(Moment::of_status)).boxed()))
            }
        }
    }

    /// How far a logical cloud is, and again with each change. It ends when whoever tells it does: then it is to be asked for again.
    pub(crate) async fn statuses(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Statuses, Error> {
        Ok(match self {
            Self::Here(store, _) => {
                store.clouds().follow(project, cloud).await?.map(|told| told.map_err(Error::from)).boxed()
            }
            Self::There(clouds) => followed(clouds, project, cloud).await?,
        })
    }

    /// The subject that a user's own certificate request must have.
    pub(crate) async fn subject(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Subject, Error> {
        Ok(match self {
            Self::Here(store, _) => store.clouds().subject(project, cloud, user).await?,
            Self::There(clouds) => clouds.subject(project, cloud, user).await?,
        })
    }

    /// Its service mesh.
    pub(crate) async fn service_mesh(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<ServiceMeshDocument, Error> {
        Ok(match self {
            Self::Here(store, _) => store.clouds().service_mesh(project, cloud).await?,
            Self::There(clouds) => clouds.service_mesh(project, cloud).await?,
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
            Self::Here(store, caller) => store.clouds().renew(caller, project, cloud, user).await?,
            Self::There(clouds) => clouds.renew(project, cloud, user).await?,
        })
    }

    /// Renews the credentials that are due after an apply.
    pub(crate) async fn renew_due(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Renewed, Error> {
        Ok(match self {
            Self::Here(store, caller) => store.clouds().renew_due(caller, project, cloud).await?,
            Self::There(clouds) => clouds.renew(project, cloud, None).await?,
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
            Self::Here(store, caller) => store.clouds().revoke(caller, project, cloud, user).await?,
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
            Self::Here(store, caller) => store.clouds().terminate(caller, project, cloud, removal).await?,
            Self::There(clouds) => clouds.terminate(project, cloud, removal).await?,
        }
        Ok(())
    }

    /// Pauses what is under way, and waits until nothing is, for as long as may be.
    pub(crate) async fn stop(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        limit: Duration,
    ) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => Ok(store.clouds().stop(caller, project, cloud, limit).await?),
            Self::There(clouds) => {
                let is_stopped = async || Ok(clouds.status(project, cloud).await?.stopped.is_some());
                stopping::until_idle(limit, async |wait| clouds.stop(project, cloud, wait).await, is_stopped)
                    .await
            }
        }
    }

    /// Checks a draft against what is registered and stored. Asks no cluster.
    pub(crate) async fn check(&self, project: &ProjectName, draft: &Draft) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => {
                store.clouds().foresee(caller, project, draft.clone()).await?;
            }
            Self::There(clouds) => {
                let cloud = drafted(project, draft)?;
                clouds.check(project, cloud.name(), &document::to_json(&cloud)?).await?;
            }
        }
        Ok(())
    }

    /// Makes a logical cloud what a draft says, and brings that to its clusters, as it was agreed. Gives the app
    /// context, which a server keeps to itself, and whether anything was to be done.
    pub(crate) async fn declare(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        draft: &Draft,
        agreed: Agreed,
    ) -> Result<(Option<ContextId>, AppliedOutcome), Error> {
        match self {
            Self::Here(store, caller) => {
                let any = Precondition::default();
                let declared = store.declare(caller, (project, cloud), draft, &any, agreed).await?;
                let outcome = match declared.applied.outcome {
                    ApplyOutcome::Unchanged => AppliedOutcome::Unchanged,
                    ApplyOutcome::Begun | ApplyOutcome::Replaced(_) => AppliedOutcome::Begun,
                };
                Ok((Some(Identity::of(&declared.edited.cloud).context_id()), outcome))
            }
            Self::There(clouds) => {
                let document = document::to_json(&drafted(project, draft)?)?;
                let declared = clouds.declare(project, cloud, &document, agreed.hash().as_ref()).await?;
                Ok((None, declared.applied))
            }
        }
    }

    /// What a user has, and what was left out.
    pub(crate) async fn hand_out(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
        reference: Option<&ReferenceName>,
    ) -> Result<Handed, Error> {
        match self {
            Self::Here(store, caller) => {
                let found = store.clouds().hand_out(caller, project, cloud, user, reference).await?;
                let left_out = found.left_out().collect();
                Ok(Handed { access: found.access, left_out })
            }
            Self::There(clouds) => {
                let HandedOut { kubeconfig, left_out, .. } =
                    clouds.kubeconfig(project, cloud, user, reference).await?;
                let access = Access::read(project.clone(), cloud.clone(), &kubeconfig)?;
                Ok(Handed { access, left_out })
            }
        }
    }

    /// Remembers that a user was given this. A server has done so by itself.
    pub(crate) async fn handed_out(&self, access: &Access) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => Ok(store.clouds().handed_out(caller, access).await?),
            Self::There(_) => Ok(()),
        }
    }

    /// A user's newest credential for a cluster, as clients of Kubernetes take it.
    pub(crate) async fn credential(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: &ReferenceName,
    ) -> Result<Secret, Error> {
        match self {
            Self::Here(store, caller) => {
                Ok(store.clouds().hand_out_credential(caller, project, cloud, user, reference).await?)
            }
            Self::There(clouds) => Ok(clouds.credential(project, cloud, user, reference).await?),
        }
    }

    /// Goes on with what is paused.
    pub(crate) async fn resume(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => store.clouds().resume(caller, project, cloud).await?,
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
            Self::Here(store, caller) => drop(store.clouds().reconcile(caller, project, cloud).await?),
            Self::There(clouds) => clouds.reconcile(project, cloud).await?,
        }
        Ok(())
    }

    /// Deletes a logical cloud that is on no cluster.
    pub(crate) async fn delete(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => store.clouds().delete(caller, project, cloud).await?,
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
            // Whether the engine has what was cut off can't be told by the state: clusters tell what it has.
            _ if status.is_interrupted => lanes.values().all(is_at_end).then_some(End::Done),
            State::Created | State::Instantiated | State::Terminated => Some(End::Done),
            State::Failed(_) => Some(End::Stuck),
            State::Stopped(_) if lanes.values().all(is_at_end) => Some(End::Done),
            State::Stopped(_) => Some(End::Stopped),
            State::Instantiating | State::Updating | State::Terminating => None,
        };
        Self { lanes, end }
    }
}

/// The same of a server. It ends with the logical cloud.
async fn followed(
    clouds: &Remote<'_>,
    project: &ProjectName,
    cloud: &LogicalCloudName,
) -> Result<Statuses, Error> {
    let status = |event| async {
        match event {
            Ok(Event::Status(status)) => Some(Ok(*status)),
            // Nothing follows a deletion, and what else may be told one day is not waited for.
            Ok(_) => None,
            Err(error) => Some(Err(Error::from(error))),
        }
    };
    Ok(clouds.follow(project, cloud).await?.filter_map(status).boxed())
}

/// The logical cloud of a draft, of whichever identity: that is in no document.
pub(crate) fn drafted(project: &ProjectName, draft: &Draft) -> Result<LogicalCloud, Error> {
    let uid = LogicalCloudUid::from_random(0);
    let made = LogicalCloud::new(project.clone(), uid, draft.clone()).map_err(service::Error::from)?;
    Ok(made.0)
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
