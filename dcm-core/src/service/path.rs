//! Where the documents of the services lie in the store.
//!
//! | Path | Document |
//! |---|---|
//! | `projects/PROJECT` | a project |
//! | `logical-clouds/PROJECT/CLOUD` | the root of a logical cloud: the commit point of every change of it |
//! | `parts/PROJECT/CLOUD/UID/KIND/NAME/EDIT-HASH` | one part of it (user, quota, …), or the list of its parts (`contents`) |
//! | `snapshots/PROJECT/CLOUD/UID/NUMBER-HASH` | what an apply froze |
//! | `credentials/PROJECT/CLOUD/UID/USER` | a user's credential |
//! | `handed-out/PROJECT/CLOUD/UID/USER` | what the kubeconfigs said of clusters that a user was given |
//! | `context-owners/ID` | the logical cloud that an app context belongs to |
//! | `deleted/PROJECT/CLOUD/UID` | a logical cloud that was deleted, for as long as something of it may still come |
//! | `clusters/PROVIDER/CLUSTER` | a registered cluster |
//!
//! Parts and snapshots are never changed: a new edit has new ones. What belongs to a cloud lies below its UID, so that
//! late work on a deleted cloud never touches one that is made again under its name.

use crate::logical_cloud::LogicalCloudUid;
use crate::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};
use crate::port::store::{Path, Prefix};
use crate::render::naming::Identity;

use super::documents::{DocumentId, PartKind};

fn path(segments: &[&str]) -> Path {
    let text = segments.join("/");
    Path::new(&text).unwrap_or_else(|_| unreachable!("names are legal segments: {text:?}"))
}

fn below(segments: &[&str]) -> Prefix {
    Prefix::below(&path(segments))
}

pub(super) fn project(project: &ProjectName) -> Path {
    path(&["projects", project.as_str()])
}

pub(super) fn projects() -> Prefix {
    below(&["projects"])
}

pub(super) fn root(project: &ProjectName, cloud: &LogicalCloudName) -> Path {
    path(&["logical-clouds", project.as_str(), cloud.as_str()])
}

/// The roots of a project's logical clouds.
pub(super) fn roots(project: &ProjectName) -> Prefix {
    below(&["logical-clouds", project.as_str()])
}

/// The roots of all logical clouds.
pub(super) fn all_roots() -> Prefix {
    below(&["logical-clouds"])
}

/// The project and the logical cloud whose root lies at a path.
pub(super) fn of_root(path: &Path) -> Option<(ProjectName, LogicalCloudName)> {
    let mut segments = path.segments().skip(1);
    Some((ProjectName::new(segments.next()?).ok()?, LogicalCloudName::new(segments.next()?).ok()?))
}

pub(super) fn context_owner(context: &ContextId) -> Path {
    path(&["context-owners", context.as_str()])
}

/// The logical clouds that were deleted lately.
pub(super) fn all_deleted() -> Prefix {
    below(&["deleted"])
}

pub(super) fn cluster(cluster: &ClusterId) -> Path {
    path(&["clusters", cluster.provider.as_str(), cluster.cluster.as_str()])
}

pub(super) fn clusters() -> Prefix {
    below(&["clusters"])
}

/// The id at the end of a part's or snapshot's path.
pub(super) fn id_of(path: &Path) -> Option<DocumentId> {
    path.segments().next_back()?.parse().ok()
}

/// One logical cloud, for ever: where what belongs to it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) project: ProjectName,
    pub(super) cloud: LogicalCloudName,
    pub(super) uid: LogicalCloudUid,
}

impl Place {
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity { project: &self.project, cloud: &self.cloud, uid: self.uid }
    }

    pub(super) fn context_id(&self) -> ContextId {
        self.identity().context_id()
    }

    pub(super) fn root(&self) -> Path {
        root(&self.project, &self.cloud)
    }

    pub(super) fn parts(&self) -> Prefix {
        self.below("parts")
    }

    pub(super) fn part(&self, kind: PartKind, name: &str, id: &DocumentId) -> Path {
        self.at("parts", &[kind.folder(), name, &id.to_string()])
    }

    pub(super) fn contents(&self, id: &DocumentId) -> Path {
        self.at("parts", &["contents", "all", &id.to_string()])
    }

    pub(super) fn snapshots(&self) -> Prefix {
        self.below("snapshots")
    }

    pub(super) fn snapshot(&self, id: &DocumentId) -> Path {
        self.at("snapshots", &[&id.to_string()])
    }

    pub(super) fn credentials(&self) -> Prefix {
        self.below("credentials")
    }

    pub(super) fn credential(&self, user: &UserName) -> Path {
        self.at("credentials", &[user.as_str()])
    }

    pub(super) fn all_handed_out(&self) -> Prefix {
        self.below("handed-out")
    }

    pub(super) fn handed_out(&self, user: &UserName) -> Path {
        self.at("handed-out", &[user.as_str()])
    }

    pub(super) fn deleted(&self) -> Path {
        self.at("deleted", &[])
    }

    fn below(&self, room: &str) -> Prefix {
        below(&[room, self.project.as_str(), self.cloud.as_str(), &self.uid.to_string()])
    }

    fn at(&self, room: &str, rest: &[&str]) -> Path {
        let uid = self.uid.to_string();
        let mut segments = vec![room, self.project.as_str(), self.cloud.as_str(), &uid];
        segments.extend(rest);
        path(&segments)
    }
}
