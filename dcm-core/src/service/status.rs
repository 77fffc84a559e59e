//! How far a logical cloud is: what its documents say beside what the synchronizer says.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::app_context::Generation;
use crate::causes::Reader;
use crate::logical_cloud::life_cycle::State;
use crate::logical_cloud::{LogicalCloud, LogicalCloudUid};
use crate::name::{ClusterId, LogicalCloudName, Namespace, ProjectName, ReferenceName, UserName};
use crate::port::synchronizer::Error as Failure;
use crate::refusal::Warning;
use crate::status::{ContextStatus, LaneStatus};

use super::caller::Change;
use super::credential_status::CredentialStatus;
use super::documents::Root;
use super::error::{Error, Kind};
use super::history::Milestone;
use super::life;
use super::load;
use super::logical_clouds::LogicalClouds;
use super::path::Place;

/// How far a logical cloud is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CloudStatus {
    /// The project that owns it.
    pub project: ProjectName,
    /// Its name.
    pub name: LogicalCloudName,
    /// What tells it from another one of its name.
    pub uid: LogicalCloudUid,
    /// Its state.
    #[serde(flatten)]
    pub state: State,
    /// Its namespace; an admin cloud has one once it is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The number of its last edit.
    pub edit: u64,
    /// True when its documents differ from what was applied: an apply would change something.
    pub is_edited: bool,
    /// True when an apply is under way or was cut off: apply again, or terminate.
    pub is_interrupted: bool,
    /// What was applied last; none when nothing is wanted on clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedStatus>,
    /// Who made it.
    pub created: Change,
    /// Who changed its documents last.
    pub changed: Change,
    /// Who paused it, when it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Change>,
    /// Who wanted it off its clusters, since it was applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<Change>,
    /// Who wanted it deleted as soon as it is off its clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<Change>,
    /// What was decided about its clusters, the newest last; the oldest are forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Milestone>,
    /// What is accepted and perhaps not meant.
    pub warnings: Vec<Warning>,
    /// Its clusters: those of its documents, those that it is applied to and those that it is being taken off.
    pub clusters: BTreeMap<ClusterId, ClusterInCloud>,
    /// The credentials of the users that are applied.
    pub credentials: BTreeMap<UserName, CredentialStatus>,
}

impl CloudStatus {
    /// The status without what a reader may not read.
    #[must_use]
    pub fn restricted_to(mut self, reader: Reader) -> Self {
        let lanes = self.clusters.values_mut().filter_map(|here| here.lane.as_mut());
        lanes.for_each(|lane| lane.restrict_to(reader));
        self.credentials.values_mut().for_each(|credential| credential.restrict_to(reader));
        self
    }
}

/// What was applied last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppliedStatus {
    /// The number of the snapshot.
    pub snapshot: u64,
    /// The edit that it froze.
    pub edit: u64,
    /// The generation of the app context.
    pub generation: Generation,
    /// Who applied it.
    pub applied: Change,
}

/// One cluster of a logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterInCloud {
    /// The reference to it; none when it is being taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceName>,
    /// How far the engine is there; none before it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneStatus>,
}

/// One event of a watch: the state, and what it was derived from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloudProgress {
    /// The state of the logical cloud.
    #[serde(flatten)]
    pub state: State,
    /// The status of its app context.
    pub context: ContextStatus,
}

/// Follows a logical cloud; ends when it is deleted.
pub type ProgressStream = BoxStream<'static, Result<CloudProgress, Error>>;

impl LogicalClouds {
    /// How far a logical cloud is.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the store and the synchronizer.
    pub async fn status(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<CloudStatus, Error> {
        self.status_with(project, cloud, None).await
    }

    /// The same, with what the synchronizer was heard to say; it is asked where that is nothing.
    pub(super) async fn status_with(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        heard: Option<ContextStatus>,
    ) -> Result<CloudStatus, Error> {
        let (loaded, applied) =
            load::load_with(&*self.documents, project, cloud, Root::applied_snapshot).await?;
        let place = &loaded.place;
        let context = match heard {
            Some(context) => Some(context),
            None => self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?,
        };
        let credentials = match &applied {
            Some(applied) => self.credential_statuses(place, applied, context.as_ref()).await?,
            None => BTreeMap::new(),
        };
        let warnings = loaded.cloud.warnings();
        let root = &loaded.root;
        let namespace = match &applied {
            Some(applied) => applied.snapshot.namespace.clone(),
            None => root.namespace.clone(),
        };
        let applied_cloud = applied.as_ref().map(|applied| &applied.cloud);
        Ok(CloudStatus {
            project: project.clone(),
            name: cloud.clone(),
            uid: root.uid,
            state: life(root, context.as_ref()).state(),
            namespace,
            edit: root.edit,
            is_edited: is_edited(root, context.as_ref()),
            is_interrupted: root.applying.is_some(),
            applied: applied_status(root),
            created: root.created.clone(),
            changed: root.changed.clone(),
            stopped: root.stopped.clone(),
            terminated: root.terminated.clone(),
            leaving: root.leaving.clone(),
            history: root.history.clone(),
            warnings,
            clusters: clusters(&loaded.cloud, applied_cloud, context),
            credentials,
        })
    }

    /// Follows the work on a logical cloud: an event now, and one after each change.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`] when there is nothing to follow; errors of the store and the
    /// synchronizer, also in the stream.
    pub async fn watch(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<ProgressStream, Error> {
        let (place, ..) = load::standing(&*self.documents, project, cloud).await?;
        let statuses = applied_result(cloud, self.synchronizer.watch(&place.context_id()).await)?;
        let clouds = self.clone();
        let events = statuses.then(move |status| {
            let (clouds, place) = (clouds.clone(), place.clone());
            async move { clouds.progress(&place, status.map_err(Error::Synchronizer)?).await }
        });
        let until_gone =
            events.take_while(|event| futures::future::ready(!matches!(event, Err(Error::NotFound { .. }))));
        Ok(until_gone.boxed())
    }

    /// Waits until the work on a logical cloud is done or action is required, and returns its progress then: `Done` or `Stuck` in
    /// [`CloudProgress::context`]. Paused work may never be done, so set a limit.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`], also when nothing is wanted on clusters any more and nothing is left there; errors of the
    /// store and the synchronizer.
    pub async fn wait_until_done(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<CloudProgress, Error> {
        let (place, ..) = load::standing(&*self.documents, project, cloud).await?;
        let waited = self.synchronizer.wait_until_done(&place.context_id()).await;
        self.progress(&place, applied_result(cloud, waited)?).await
    }

    async fn progress(&self, place: &Place, context: ContextStatus) -> Result<CloudProgress, Error> {
        let (_, root, _) = load::standing(&*self.documents, &place.project, &place.cloud).await?;
        Ok(CloudProgress { state: life(&root, Some(&context)).state(), context })
    }
}

/// A result of the synchronizer about the app context of a logical cloud, which has none before it is applied.
fn applied_result<T>(cloud: &LogicalCloudName, result: Result<T, Failure>) -> Result<T, Error> {
    result.map_err(|error| match error {
        Failure::NotFound { .. } => Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() },
        other => Error::Synchronizer(other),
    })
}

/// Whether an apply would change something, as far as the documents of the cloud tell.
fn is_edited(root: &Root, context: Option<&ContextStatus>) -> bool {
    let Some(applied) = &root.applied else { return true };
    applied.snapshot.contents != root.contents
        || root.applying.is_some()
        || context.is_none_or(|context| context.generation != applied.generation)
}

fn life(root: &Root, context: Option<&ContextStatus>) -> crate::logical_cloud::life_cycle::LifeCycle {
    life::of(root, context, is_edited(root, context), root.references)
}

fn applied_status(root: &Root) -> Option<AppliedStatus> {
    root.applied.as_ref().map(|applied| AppliedStatus {
        snapshot: applied.snapshot.id.number(),
        edit: applied.snapshot.edit,
        generation: applied.generation,
        applied: applied.snapshot.made.clone(),
    })
}

fn clusters(
    edited: &LogicalCloud,
    applied: Option<&LogicalCloud>,
    context: Option<ContextStatus>,
) -> BTreeMap<ClusterId, ClusterInCloud> {
    let mut clusters: BTreeMap<ClusterId, ClusterInCloud> = BTreeMap::new();
    let applied = applied.into_iter().flat_map(LogicalCloud::references);
    for reference in edited.references().iter().chain(applied) {
        let entry = clusters.entry(reference.cluster.clone()).or_default();
        entry.reference.get_or_insert_with(|| reference.metadata.name.clone());
    }
    for (cluster, lane) in context.into_iter().flat_map(|context| context.lanes) {
        clusters.entry(cluster).or_default().lane = Some(lane);
    }
    clusters
}
