//! Which credentials an apply would take, without making any.

use std::collections::BTreeMap;

use crate::logical_cloud::{Draft, Epoch, LogicalCloud, LogicalCloudUid, Serial};
use crate::name::{LogicalCloudName, ProjectName, UserName};

use super::error::Error;
use super::load;
use super::logical_clouds::LogicalClouds;

/// What makes the names on clusters, as an apply would have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    /// What tells the logical cloud from another one of its name.
    pub uid: LogicalCloudUid,
    /// The credential of each user.
    pub credentials: BTreeMap<UserName, (Epoch, Serial)>,
}

impl LogicalClouds {
    /// What [`LogicalClouds::put`] and then [`LogicalClouds::apply`] would take for this draft, unless something is
    /// changed meanwhile. Nothing is written, and no key is made. None while there is no such cloud: its UID is drawn
    /// when it is put.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`Error::Store`].
    pub async fn foresee(&self, project: &ProjectName, draft: Draft) -> Result<Option<Foreseen>, Error> {
        let Ok(name) = LogicalCloudName::new(&draft.metadata.name) else { return Ok(None) };
        let loaded = match load::load(&*self.documents, project, &name).await {
            Ok(loaded) => loaded,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let uid = loaded.place.uid;
        let (cloud, _) = LogicalCloud::new(project.clone(), uid, draft)?;
        let ids = self.ids_to_be(&loaded, &cloud).await?;
        let credentials = ids.into_iter().map(|(user, id)| (user, (id.epoch, id.serial)));
        Ok(Some(Foreseen { uid, credentials: credentials.collect() }))
    }
}
