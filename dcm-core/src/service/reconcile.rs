//! Going on after a store was lost, or restored from an old copy.

use crate::app_context::Generation;
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::Action;

use super::audited::about;
use super::caller::Caller;
use super::documents::Root;
use super::error::{Error, Kind};
use super::load;
use super::logical_clouds::LogicalClouds;
use super::terminate::failed;

impl LogicalClouds {
    /// Takes what the store holds of a logical cloud as the truth, where clusters were found to hold later changes; what
    /// they hold otherwise is overwritten. The status tells beforehand what that is, object by object. Where the store
    /// is not behind, nothing changes.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`] and [`Error::NotHandedOver`] for one that is on no cluster; errors of the store and the
    /// synchronizer.
    pub async fn reconcile(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Generation, Error> {
        let reconciling = self.reconcile_once(caller, project, cloud);
        self.audited(caller, Action::Reconcile, about(project, cloud), reconciling).await
    }

    async fn reconcile_once(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Generation, Error> {
        let (place, root, _) = load::standing(&*self.documents, project, cloud).await?;
        let id = place.context_id();
        let status = self.synchronizer.status(&id).await.map_err(Error::Synchronizer)?;
        if status.is_none() && root.newest().is_none() {
            return Err(Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() });
        }
        let before = status.map(|status| status.generation);
        let change = self.change(caller);
        // First the root: cut off after the synchronizer has raised the generation, nobody could tell any more whether
        // what it holds is what was applied.
        self.change_root(&place, |root| is_held(root, before) && root.begin_again(&change)).await?;
        let generation = self.synchronizer.reconcile(&id).await.map_err(|error| failed(&place, error))?;
        // What was applied is applied still, under a later number.
        self.change_root(&place, |root| {
            let is_still_applied = root.is_begun_again() || is_held(root, before);
            is_still_applied && root.take_generation(generation)
        })
        .await?;
        Ok(generation)
    }
}

/// True when the synchronizer holds what was applied, and nothing else may have been handed over.
fn is_held(root: &Root, generation: Option<Generation>) -> bool {
    root.applying.is_none() && root.applied.as_ref().map(|applied| applied.generation) == generation
}
