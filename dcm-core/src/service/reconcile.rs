//! Going on after a store was lost, or restored from an old copy.

use crate::app_context::Generation;
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::Action;

use super::audited::about;
use super::caller::Caller;
use super::error::Error;
use super::load;
use super::logical_clouds::LogicalClouds;
use super::terminate::failed;

impl LogicalClouds {
    /// Takes what the store holds of a logical cloud as the truth, where clusters were found to hold later changes; what
    /// they hold otherwise is overwritten. The status tells beforehand what that is, object by object. Where the store
    /// is not behind, nothing changes.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotHandedOver`] for one that is on no cluster; errors of the store and the
    /// synchronizer.
    pub async fn reconcile(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Generation, Error> {
        let reconciling = self.reconcile_once(project, cloud);
        self.audited(caller, Action::Reconcile, about(project, cloud), reconciling).await
    }

    async fn reconcile_once(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Generation, Error> {
        let (place, ..) = load::standing(&*self.documents, project, cloud).await?;
        let id = place.context_id();
        let status = self.synchronizer.status(&id).await.map_err(Error::Synchronizer)?;
        let before = status.map(|status| status.generation);
        let generation = self.synchronizer.reconcile(&id).await.map_err(|error| failed(&place, error))?;
        // What was applied is applied still, under a later number.
        self.change_root(&place, |root| match &mut root.applied {
            Some(applied) if Some(applied.generation) == before && applied.generation != generation => {
                applied.generation = generation;
                true
            }
            _ => false,
        })
        .await?;
        Ok(generation)
    }
}
