//! Looking at logical clouds.

use std::collections::BTreeMap;

use crate::logical_cloud::{Level, LogicalCloud, LogicalCloudUid, MetadataDraft};
use crate::name::{LogicalCloudName, Namespace, ProjectName};
use crate::port::schema::Broken;
use crate::port::store::PageRequest;
use crate::refusal::Warning;

use super::caller::Change;
use super::documents::Root;
use super::error::Error;
use super::load::{self, Found};
use super::logical_clouds::LogicalClouds;
use super::owners::OfClouds;
use super::precondition::EditId;
use super::{owners, path};

/// A logical cloud, as its documents are.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The logical cloud.
    pub cloud: LogicalCloud,
    /// The number of its last edit; it grows with each.
    pub edit: u64,
    /// Who made it.
    pub created: Change,
    /// Who changed it last.
    pub changed: Change,
    /// What is accepted and perhaps not meant.
    pub warnings: Vec<Warning>,
}

impl Described {
    /// Names what was read.
    #[must_use]
    pub fn id(&self) -> EditId {
        EditId { uid: self.cloud.uid(), edit: self.edit }
    }
}

/// What a list shows of a logical cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its name, and what people wrote about it.
    pub metadata: MetadataDraft,
    /// What tells it from another one of its name.
    pub uid: LogicalCloudUid,
    /// How much it may do.
    pub level: Level,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its namespace; none for an admin cloud.
    pub namespace: Option<Namespace>,
    /// How many users it has.
    pub users: usize,
    /// How many cluster references it has, those that its selector adds not counted.
    pub references: usize,
    /// The number of its last edit.
    pub edit: u64,
    /// The number of the snapshot that is wanted on clusters.
    pub snapshot: Option<u64>,
    /// Who made it.
    pub created: Change,
    /// Who changed it last.
    pub changed: Change,
}

/// Some logical clouds of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The logical clouds, in the order of their names.
    pub clouds: Vec<Summary>,
    /// Those of which the root can't be read.
    pub broken: Vec<Broken>,
    /// Where to go on; none when this was the last page.
    pub next: Option<LogicalCloudName>,
}

impl LogicalClouds {
    /// One logical cloud.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Store`].
    pub async fn get(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<Described, Error> {
        let load::Loaded { root, cloud, .. } = load::load(&*self.documents, project, cloud).await?;
        let warnings = cloud.warnings();
        let Root { edit, created, changed, .. } = *root;
        Ok(Described { cloud, edit, created, changed, warnings })
    }

    /// Some logical clouds of a project, after one of this name: at most `limit`, or as many as the store gives at
    /// once. Reads nothing but what is shown. A page may hold fewer, even none, and go on.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the project; [`Error::Store`].
    pub async fn list(
        &self,
        project: &ProjectName,
        after: Option<&LogicalCloudName>,
        limit: Option<usize>,
    ) -> Result<Page, Error> {
        owners::must_exist::<OfClouds>(&*self.documents, project).await?;
        let after = after.map(|cloud| path::root(project, cloud));
        let page = self.documents.list(&path::roots(project), &PageRequest { after, limit }).await?;
        let (mut clouds, mut broken) = (Vec::with_capacity(page.entries.len()), Vec::new());
        for entry in &page.entries {
            let Some((project, cloud)) = path::of_root(&entry.path) else { continue };
            match load::found(&project, &cloud, entry) {
                Ok(Found::Standing(_, root, _)) => clouds.push(summary(*root)),
                Ok(_) => {}
                Err(error) => broken.push(Broken::new(&entry.path, &error)),
            }
        }
        let next = page.next.as_ref().and_then(path::of_root).map(|(_, cloud)| cloud);
        Ok(Page { clouds, broken, next })
    }
}

fn summary(root: Root) -> Summary {
    Summary {
        metadata: root.metadata,
        uid: root.uid,
        level: root.level,
        labels: root.labels,
        namespace: root.namespace,
        users: root.users,
        references: root.references,
        edit: root.edit,
        snapshot: root.applied.map(|applied| applied.snapshot.id.number()),
        created: root.created,
        changed: root.changed,
    }
}
