//! Waiting for the work on a logical cloud.

use futures::StreamExt as _;

use crate::name::{LogicalCloudName, ProjectName};
use crate::status::Progress;

use super::error::{Error, Kind};
use super::logical_clouds::LogicalClouds;
use super::status::CloudProgress;

impl LogicalClouds {
    /// Waits until the work on a logical cloud is done or action is required, and returns its progress then: [`Progress::Done`] or
    /// [`Progress::Stuck`] in [`CloudProgress::context`]. While the work is paused it may wait without end, so set a limit. Each change
    /// costs a status, which reads all lanes.
    ///
    /// # Errors
    /// [`Error::NotFound`], also when the logical cloud is deleted meanwhile; [`Error::NotApplied`], also when nothing is left of it on
    /// clusters and in the synchronizer; errors of the store and the synchronizer.
    pub async fn wait_until_done(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<CloudProgress, Error> {
        let mut events = self.watch(project, cloud).await?;
        while let Some(event) = events.next().await {
            let event = event?;
            if event.context.progress != Progress::Working {
                return Ok(event);
            }
        }
        // It is not applied any more, or it is gone.
        self.state(project, cloud).await?;
        Err(Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() })
    }
}
