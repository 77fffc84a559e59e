//! What a document says: planned, and in one stored and brought to clusters.

use dcm_core::logical_cloud::Draft;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::service::{ApplyCondition, Caller, EditId, Error, Foreseen, Precondition};
use dcm_rest::{DeclareError, Declared, PlanStale, PlannedDraft};
use dcm_sync::planning::Rehearsing;

use crate::deployment::Deployment;

impl Deployment {
    /// Plans what an apply of a draft would do. Writes nothing, neither to the store nor to a cluster.
    ///
    /// # Errors
    /// Those of [`LogicalClouds::foresee`](dcm_core::service::LogicalClouds::foresee) and of the synchronizer.
    pub async fn plan_draft(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: &Draft,
        rehearsing: Rehearsing,
    ) -> Result<PlannedDraft, Error> {
        let Foreseen { is_new, context, .. } = self.clouds().foresee(caller, project, draft.clone()).await?;
        let planned = self.planner().plan_one(context, rehearsing).await.map_err(Error::Synchronizer)?;
        Ok(PlannedDraft { is_new, planned })
    }

    /// Makes a logical cloud what a draft says, under a condition, and brings just that to its clusters: in place of what is under way,
    /// and as it was planned where there is a plan of the draft.
    ///
    /// # Errors
    /// [`DeclareError`].
    pub async fn declare(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        condition: &Precondition<EditId>,
        planned: Option<PlannedDraft>,
    ) -> Result<Declared, DeclareError> {
        let next = |_: Option<&_>| Ok(draft.clone());
        let edited = self.clouds().edit(caller, project, cloud, condition, next).await?;
        let planned = match planned {
            Some(planned) => Some(self.of_what_is_stored(caller, (project, cloud), draft, planned).await?),
            None => None,
        };
        // What was planned is of this edit. Otherwise the last edit wins, whoever applies it.
        let known = planned.is_some().then(|| vec![edited.id()]);
        let condition = ApplyCondition { known, is_idle: false, planned };
        match self.clouds().apply_if(caller, project, cloud, &condition).await {
            Ok(applied) => Ok(Declared { edited, applied }),
            Err(Error::PreconditionFailed { .. }) => {
                Err(stored_alone(cloud, "somebody has changed it meanwhile"))
            }
            Err(error) => Err(DeclareError::NotApplied(error)),
        }
    }

    /// What the apply is bound to. A cloud that was not stored when it was planned had no identity: it is looked at once more under its
    /// own.
    async fn of_what_is_stored(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        before: PlannedDraft,
    ) -> Result<PlannedState, DeclareError> {
        if !before.is_new {
            return Ok(before.planned.state());
        }
        let now = self.plan_draft(caller, project, draft, Rehearsing::Nothing).await;
        let now = now.map_err(DeclareError::NotApplied)?;
        if before.planned.is_agreed_by(&now.planned) {
            return Ok(now.planned.state());
        }
        Err(stored_alone(cloud, "a cluster is not as it was"))
    }
}

fn stored_alone(cloud: &LogicalCloudName, why: &str) -> DeclareError {
    PlanStale { detail: format!("{cloud} is stored, and is not applied: {why}") }.into()
}
