//! Where the documents of the services lie in the store.
//!
//! [`ROOMS`] says what is where.
//!
//! Parts and snapshots are never changed: a new edit has new ones. What belongs to a cloud lies below its UID, so that
//! late work on a deleted cloud never touches one that is made again under its name.

use crate::controller::ControllerGroup;
use crate::logical_cloud::LogicalCloudUid;
use crate::name::{
    ClusterId, ClusterProviderName, ContextId, ControllerName, LogicalCloudName, ProjectName, UserName,
};
use crate::port::room::Room;
use crate::port::store::{Path, Prefix};
use crate::render::naming::Identity;

use super::documents::{DocumentId, PartKind};

const PROJECTS: Room = Room { name: "projects", keys: &["project"], holds: "a project" };

const PROVIDERS: Room =
    Room { name: "cluster-providers", keys: &["provider"], holds: "where registered clusters come from" };

const CLUSTERS: Room = Room {
    name: "clusters",
    keys: &["provider", "cluster"],
    holds: "a registered cluster, with the kubeconfig that was given",
};

const CONTROLLERS: Room =
    Room { name: "controllers", keys: &["group", "controller"], holds: "the record of a controller" };

const LOGICAL_CLOUDS: Room = Room {
    name: "logical-clouds",
    keys: &["project", "logicalCloud"],
    holds: "the root of a logical cloud: the commit point of every change of it",
};

const PARTS: Room = Room {
    name: "parts",
    keys: &["project", "logicalCloud", "uid", "part", "name", "edit"],
    holds: "one part of a logical cloud (namespace, user, permission, quota, …), or the list of its parts (`contents`), as \
            one edit left it",
};

const SNAPSHOTS: Room = Room {
    name: "snapshots",
    keys: &["project", "logicalCloud", "uid", "snapshot"],
    holds: "what an apply froze",
};

const CREDENTIALS: Room = Room {
    name: "credentials",
    keys: &["project", "logicalCloud", "uid", "user"],
    holds: "a user's credential",
};

const ROOT_AUTHORITIES: Room = Room {
    name: "root-authorities",
    keys: &["project", "logicalCloud", "uid"],
    holds: "the root certificate authority of a logical cloud's mesh",
};

const CLUSTER_AUTHORITIES: Room = Room {
    name: "cluster-authorities",
    keys: &["project", "logicalCloud", "uid", "provider", "cluster"],
    holds: "the intermediate certificate authority of a logical cloud's mesh on one cluster",
};

const HANDED_OUT: Room = Room {
    name: "handed-out",
    keys: &["project", "logicalCloud", "uid", "user"],
    holds: "what the kubeconfigs said of clusters that a user was given",
};

const CONTEXT_OWNERS: Room = Room {
    name: "context-owners",
    keys: &["context"],
    holds: "the logical cloud that an app context belongs to",
};

const DELETED: Room = Room {
    name: "deleted",
    keys: &["project", "logicalCloud", "uid"],
    holds: "a logical cloud that was deleted, for as long as something of it may still come",
};

/// Where the documents of projects, clusters, controllers and logical clouds lie.
pub const ROOMS: [Room; 13] = [
    PROJECTS,
    PROVIDERS,
    CLUSTERS,
    CONTROLLERS,
    LOGICAL_CLOUDS,
    PARTS,
    SNAPSHOTS,
    CREDENTIALS,
    ROOT_AUTHORITIES,
    CLUSTER_AUTHORITIES,
    HANDED_OUT,
    CONTEXT_OWNERS,
    DELETED,
];

pub(super) fn project(project: &ProjectName) -> Path {
    PROJECTS.at(&[project.as_str()])
}

pub(super) fn projects() -> Prefix {
    PROJECTS.below(&[])
}

pub(super) fn root(project: &ProjectName, cloud: &LogicalCloudName) -> Path {
    LOGICAL_CLOUDS.at(&[project.as_str(), cloud.as_str()])
}

/// The roots of a project's logical clouds.
pub(super) fn roots(project: &ProjectName) -> Prefix {
    LOGICAL_CLOUDS.below(&[project.as_str()])
}

/// The roots of all logical clouds.
pub(super) fn all_roots() -> Prefix {
    LOGICAL_CLOUDS.below(&[])
}

/// The project and the logical cloud whose root lies at a path.
pub(super) fn of_root(path: &Path) -> Option<(ProjectName, LogicalCloudName)> {
    let (project, cloud) = (LOGICAL_CLOUDS.key(path, "project")?, LOGICAL_CLOUDS.key(path, "logicalCloud")?);
    Some((ProjectName::new(project).ok()?, LogicalCloudName::new(cloud).ok()?))
}

pub(super) fn context_owner(context: &ContextId) -> Path {
    CONTEXT_OWNERS.at(&[context.as_str()])
}

/// The logical clouds that were deleted lately.
pub(super) fn all_deleted() -> Prefix {
    DELETED.below(&[])
}

pub(super) fn cluster(cluster: &ClusterId) -> Path {
    CLUSTERS.at(&[cluster.provider.as_str(), cluster.cluster.as_str()])
}

/// The cluster whose registration lies at a path.
pub(super) fn of_cluster(path: &Path) -> Option<ClusterId> {
    ClusterId::new(CLUSTERS.key(path, "provider")?, CLUSTERS.key(path, "cluster")?).ok()
}

/// The project that lies at a path.
pub(super) fn of_project(path: &Path) -> Option<ProjectName> {
    ProjectName::new(PROJECTS.key(path, "project")?).ok()
}

pub(super) fn clusters() -> Prefix {
    CLUSTERS.below(&[])
}

/// The clusters of one provider.
pub(super) fn clusters_of(provider: &ClusterProviderName) -> Prefix {
    CLUSTERS.below(&[provider.as_str()])
}

pub(super) fn provider(provider: &ClusterProviderName) -> Path {
    PROVIDERS.at(&[provider.as_str()])
}

pub(super) fn providers() -> Prefix {
    PROVIDERS.below(&[])
}

/// The cluster provider that lies at a path.
pub(super) fn of_provider(path: &Path) -> Option<ClusterProviderName> {
    ClusterProviderName::new(PROVIDERS.key(path, "provider")?).ok()
}

pub(super) fn controller(group: ControllerGroup, name: &ControllerName) -> Path {
    CONTROLLERS.at(&[group.as_str(), name.as_str()])
}

/// The controllers of one group.
pub(super) fn controllers(group: ControllerGroup) -> Prefix {
    CONTROLLERS.below(&[group.as_str()])
}

/// The controller whose record lies at a path.
pub(super) fn of_controller(path: &Path) -> Option<(ControllerGroup, ControllerName)> {
    let group = ControllerGroup::from_name(CONTROLLERS.key(path, "group")?)?;
    Some((group, ControllerName::new(CONTROLLERS.key(path, "controller")?).ok()?))
}

/// The id at the end of a part's or snapshot's path.
pub(super) fn id_of(path: &Path) -> Option<DocumentId> {
    path.segments().next_back()?.parse().ok()
}

/// What lies at a path.
pub(super) enum Belonging {
    Project(ProjectName),
    Provider(ClusterProviderName),
    Cluster(ClusterId),
    Controller(ControllerGroup, ControllerName),
    Root(ProjectName, LogicalCloudName),
    Owner(ContextId),
    Deleted(Place),
    /// Something of a logical cloud.
    Of(Place, Of),
}

/// What of a logical cloud.
pub(super) enum Of {
    Part(DocumentId),
    Contents(DocumentId),
    Snapshot(DocumentId),
    Credential(UserName),
    /// That of a cluster; none for the root.
    Authority(Option<ClusterId>),
    HandedOut(UserName),
}

/// What lies at a path; none where nothing of the services does.
pub(super) fn belonging(path: &Path) -> Option<Belonging> {
    let room = ROOMS.iter().find(|room| room.contains(path))?;
    let key = |name: &str| room.key(path, name);
    let user = || UserName::new(key("user")?).ok();
    Some(match room.name {
        "projects" => Belonging::Project(of_project(path)?),
        "cluster-providers" => Belonging::Provider(of_provider(path)?),
        "clusters" => Belonging::Cluster(of_cluster(path)?),
        "controllers" => {
            let (group, controller) = of_controller(path)?;
            Belonging::Controller(group, controller)
        }
        "context-owners" => Belonging::Owner(ContextId::new(key("context")?).ok()?),
        "logical-clouds" => {
            let (project, cloud) = of_root(path)?;
            Belonging::Root(project, cloud)
        }
        "deleted" => Belonging::Deleted(place_of(room, path)?),
        "parts" if key("part") == Some(CONTENTS) => {
            Belonging::Of(place_of(room, path)?, Of::Contents(id_of(path)?))
        }
        "parts" => Belonging::Of(place_of(room, path)?, Of::Part(id_of(path)?)),
        "snapshots" => Belonging::Of(place_of(room, path)?, Of::Snapshot(id_of(path)?)),
        "credentials" => Belonging::Of(place_of(room, path)?, Of::Credential(user()?)),
        "root-authorities" => Belonging::Of(place_of(room, path)?, Of::Authority(None)),
        "cluster-authorities" => {
            let cluster = ClusterId::new(key("provider")?, key("cluster")?).ok()?;
            Belonging::Of(place_of(room, path)?, Of::Authority(Some(cluster)))
        }
        "handed-out" => Belonging::Of(place_of(room, path)?, Of::HandedOut(user()?)),
        _ => return None,
    })
}

/// The logical cloud that a document belongs to.
fn place_of(room: &Room, path: &Path) -> Option<Place> {
    let project = ProjectName::new(room.key(path, "project")?).ok()?;
    let cloud = LogicalCloudName::new(room.key(path, "logicalCloud")?).ok()?;
    Some(Place { project, cloud, uid: room.key(path, "uid")?.parse().ok()? })
}

/// The folder of lists of parts.
const CONTENTS: &str = "contents";

/// One logical cloud, for ever: where what belongs to it lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
        self.below(&PARTS)
    }

    pub(super) fn part(&self, kind: PartKind, name: &str, id: &DocumentId) -> Path {
        self.at(&PARTS, &[kind.folder(), name, &id.to_string()])
    }

    pub(super) fn contents(&self, id: &DocumentId) -> Path {
        self.at(&PARTS, &[CONTENTS, "all", &id.to_string()])
    }

    pub(super) fn snapshots(&self) -> Prefix {
        self.below(&SNAPSHOTS)
    }

    pub(super) fn snapshot(&self, id: &DocumentId) -> Path {
        self.at(&SNAPSHOTS, &[&id.to_string()])
    }

    pub(super) fn credentials(&self) -> Prefix {
        self.below(&CREDENTIALS)
    }

    pub(super) fn credential(&self, user: &UserName) -> Path {
        self.at(&CREDENTIALS, &[user.as_str()])
    }

    pub(super) fn root_authority(&self) -> Path {
        self.at(&ROOT_AUTHORITIES, &[])
    }

    pub(super) fn cluster_authorities(&self) -> Prefix {
        self.below(&CLUSTER_AUTHORITIES)
    }

    pub(super) fn cluster_authority(&self, cluster: &ClusterId) -> Path {
        self.at(&CLUSTER_AUTHORITIES, &[cluster.provider.as_str(), cluster.cluster.as_str()])
    }

    pub(super) fn all_handed_out(&self) -> Prefix {
        self.below(&HANDED_OUT)
    }

    pub(super) fn handed_out(&self, user: &UserName) -> Path {
        self.at(&HANDED_OUT, &[user.as_str()])
    }

    pub(super) fn deleted(&self) -> Path {
        self.at(&DELETED, &[])
    }

    fn below(&self, room: &Room) -> Prefix {
        Prefix::below(&self.at(room, &[]))
    }

    fn at(&self, room: &Room, rest: &[&str]) -> Path {
        let uid = self.uid.to_string();
        room.at(&[&[self.project.as_str(), self.cloud.as_str(), &uid], rest].concat())
    }
}
