//! What a document says: planned, and in one stored and brought to clusters.

use dcm_core::logical_cloud::Draft;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::service::{Applied, ApplyCondition, Caller, EditId, Error, Foreseen, Precondition};
use dcm_rest::{Agreed, DeclareError, Declared, PlanStale, PlannedDraft};
use dcm_sync::planning::Rehearsing;

use crate::deployment::Deployment;

impl Deployment {
    /// Plans what an apply of a draft would do. Writes nothing, neither to the store nor to a cluster.
    ///
    /// # Errors
    /// Those of [`LogicalClouds::foresee`](dcm_core::service::LogicalClouds::foresee) and of the synchronizer.
    pub(crate) async fn plan_draft(
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

    /// What an apply of a draft is bound to. What can't be applied, or is not as it was agreed, is refused here.
    async fn agreed(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: &Draft,
        agreed: Agreed,
    ) -> Result<Option<PlannedDraft>, DeclareError> {
        match agreed {
            Agreed::Anything => {
                self.clouds().foresee(caller, project, draft.clone()).await?;
                Ok(None)
            }
            Agreed::Hash(hash) => {
                let now = self.plan_draft(caller, project, draft, Rehearsing::Nothing).await?;
                Ok(Some(now.as_planned(&hash)?))
            }
            Agreed::Planned(planned) => Ok(Some(*planned)),
        }
    }

    /// Makes a logical cloud what a draft says, under a condition, and brings just that to its clusters: in place of what is under way,
    /// and as it was agreed. What can't be applied, or is not as it was agreed, is not stored either.
    ///
    /// # Errors
    /// [`DeclareError`].
    pub(crate) async fn declare(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        condition: &Precondition<EditId>,
        agreed: Agreed,
    ) -> Result<Declared, DeclareError> {
        let planned = self.agreed(caller, project, draft, agreed).await?;
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
                Err(stored_alone(cloud, "another client has changed it meanwhile"))
            }
            Err(error) => Err(DeclareError::NotApplied(error)),
        }
    }

    /// Brings what is stored of a logical cloud to its clusters, as it was agreed, while nothing is under way: any edit of it, or one of
    /// those that are known.
    ///
    /// # Errors
    /// [`DeclareError`].
    pub(crate) async fn apply(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        known: Option<Vec<EditId>>,
        agreed: Agreed,
    ) -> Result<Applied, DeclareError> {
        let planned = match agreed {
            // The services look at what is stored by themselves.
            Agreed::Anything => None,
            agreed => {
                let draft = self.clouds().get(project, cloud).await?.cloud.to_draft();
                self.agreed(caller, project, &draft, agreed).await?.map(|planned| planned.planned.state())
            }
        };
        let condition = ApplyCondition { known, is_idle: true, planned };
        Ok(self.clouds().apply_if(caller, project, cloud, &condition).await?)
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
