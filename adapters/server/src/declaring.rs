//! What a document says, in one: stored, and brought to clusters.

use dcm_core::logical_cloud::Draft;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::plan::PlanHash;
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::service::{ApplyCondition, Caller, EditId, Error, Foreseen, Precondition};
use dcm_rest::{DeclareError, Declared};
use dcm_sync::planning::Planned;

use crate::deployment::Deployment;

impl Deployment {
    /// Makes a logical cloud what a draft says, under a condition, and brings just that to its clusters: in place of what is under way,
    /// and as it was planned where a plan of the draft is named.
    ///
    /// # Errors
    /// [`DeclareError::Stale`]; those of an edit and of an apply. Where nothing changes meanwhile, a draft that can't be applied is not stored.
    pub async fn declare(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        condition: &Precondition<EditId>,
        plan: Option<&PlanHash>,
    ) -> Result<Declared, DeclareError> {
        // What can't be applied is not stored either.
        let planned = match plan {
            Some(plan) => Some(self.look_as_planned(caller, project, draft, plan).await?),
            None => {
                self.clouds().foresee(caller, project, draft.clone()).await?;
                None
            }
        };
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

    /// What an apply is bound to that is to do what was planned for a draft, if that is still what it would do.
    ///
    /// # Errors
    /// [`DeclareError::Stale`]; those of the services.
    pub async fn as_planned(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: &Draft,
        plan: &PlanHash,
    ) -> Result<PlannedState, DeclareError> {
        Ok(self.look_as_planned(caller, project, draft, plan).await?.planned.state())
    }

    /// What an apply of a draft would do now, if that is what the plan says.
    async fn look_as_planned(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: &Draft,
        plan: &PlanHash,
    ) -> Result<Look, DeclareError> {
        let now = self.looked_at(caller, project, draft).await?;
        match now.planned.changes_since(plan) {
            Some(changes) => Err(DeclareError::Stale { detail: changes.to_string() }),
            None => Ok(now),
        }
    }

    /// What the apply is bound to. A cloud that was not stored when it was planned had no identity: it is looked at once more under its
    /// own.
    async fn of_what_is_stored(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        draft: &Draft,
        before: Look,
    ) -> Result<PlannedState, DeclareError> {
        if !before.is_new {
            return Ok(before.planned.state());
        }
        let now = self.looked_at(caller, project, draft).await?;
        if before.planned.is_agreed_by(&now.planned) {
            return Ok(now.planned.state());
        }
        Err(stored_alone(cloud, "a cluster is not as it was"))
    }

    async fn looked_at(&self, caller: &Caller, project: &ProjectName, draft: &Draft) -> Result<Look, Error> {
        let Foreseen { is_new, context, .. } = self.clouds().foresee(caller, project, draft.clone()).await?;
        let planned = self.planner().plan_one_unrehearsed(context).await.map_err(Error::Synchronizer)?;
        Ok(Look { is_new, planned })
    }
}

fn stored_alone(cloud: &LogicalCloudName, why: &str) -> DeclareError {
    DeclareError::Stale { detail: format!("{cloud} is stored, and is not applied: {why}") }
}

/// What would be done for a draft now.
struct Look {
    /// No such cloud is stored: it has no identity yet.
    is_new: bool,
    planned: Planned,
}
