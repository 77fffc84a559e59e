//! Where the documents of the services lie in the store.
//!
//! [`ROOMS`] says what is where.
//!
//! Parts and snapshots are never changed: a new edit has new ones. What belongs to a cloud lies below its UID, so that
//! late work on a deleted cloud never touches one that is made again under its name.

use crate::logical_cloud::LogicalCloudUid;
use crate::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};
use crate::port::room::Room;
use crate::port::store::{Path, Prefix};
use crate::render::naming::Identity;

use super::documents::{DocumentId, PartKind};

/// Where the documents of projects, clusters and logical clouds lie.
pub const ROOMS: [Room; 9] = [
    Room { name: "projects", keys: &["project"], holds: "a project", made_by: "`Projects::create`" },
    Room {
        name: "clusters",
        keys: &["provider", "cluster"],
        holds: "a registered cluster, with the kubeconfig that was given",
        made_by: "`RegisteredClusters::register`",
    },
    Room {
        name: "logical-clouds",
        keys: &["project", "logicalCloud"],
        holds: "the root of a logical cloud: the commit point of every change of it",
        made_by: "`LogicalClouds::put`",
    },
    Room {
        name: "parts",
        keys: &["project", "logicalCloud", "uid", "part", "name", "edit"],
        holds: "one part of a logical cloud (namespace, user, permission, quota, …), or the list of its parts (`contents`), as \
                one edit left it",
        made_by: "`LogicalClouds::put`",
    },
    Room {
        name: "snapshots",
        keys: &["project", "logicalCloud", "uid", "snapshot"],
        holds: "what an apply froze",
        made_by: "`LogicalClouds::apply`",
    },
    Room {
        name: "credentials",
        keys: &["project", "logicalCloud", "uid", "user"],
        holds: "a user's credential",
        made_by: "`LogicalClouds::apply`",
    },
    Room {
        name: "handed-out",
        keys: &["project", "logicalCloud", "uid", "user"],
        holds: "what the kubeconfigs said of clusters that a user was given",
        made_by: "`LogicalClouds::kubeconfigs`",
    },
    Room {
        name: "context-owners",
        keys: &["context"],
        holds: "the logical cloud that an app context belongs to",
        made_by: "`LogicalClouds::apply`",
    },
    Room {
        name: "deleted",
        keys: &["project", "logicalCloud", "uid"],
        holds: "a logical cloud that was deleted, for as long as something of it may still come",
        made_by: "`LogicalClouds::delete`",
    },
];

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
