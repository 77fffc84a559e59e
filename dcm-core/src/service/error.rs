//! Why a service refused or failed.

use std::fmt;
use std::sync::Arc;

use crate::authority::IssueError;
use crate::logical_cloud::life_cycle;
use crate::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, ReferenceName, UserName};
use crate::pki::{CertificateRefused, RequestRefused};
use crate::port::{key_source, store, synchronizer};
use crate::refusal::{Refusal, Refusals};
use crate::{kubeconfig, render};

use super::issued::Missing;

/// Why a service refused or failed. No variant shows a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such thing.
    #[error("there is no {kind} {name}{}", in_project(.project.as_ref()))]
    NotFound {
        /// What it was to be.
        kind: Kind,
        /// Its name.
        name: String,
        /// The project that it was looked for in; none for what is in no project.
        project: Option<ProjectName>,
    },
    /// There is such a thing already, and it is another one than was asked for.
    #[error("there is a {kind} {name} already")]
    AlreadyThere {
        /// What it is.
        kind: Kind,
        /// Its name.
        name: String,
    },
    /// It is not what the caller takes it for: somebody else has changed it since it was read, or it is gone.
    #[error("{kind} {name} is not as it was when it was read; read it again")]
    PreconditionFailed {
        /// What it is.
        kind: Kind,
        /// Its name.
        name: String,
    },
    /// The input breaks rules.
    #[error(transparent)]
    Refused(#[from] Refusals),
    /// The logical cloud's state does not allow it; the message says what helps.
    #[error(transparent)]
    WrongState(#[from] life_cycle::Refused),
    /// The apply of the logical cloud was cut off before the engine took it.
    #[error("an apply of logical cloud {cloud} was cut off before the engine took it; apply or terminate it")]
    NotHandedOver {
        /// Which logical cloud.
        cloud: LogicalCloudName,
    },
    /// The logical cloud was terminated or deleted while it was being applied; nothing of the apply stays.
    #[error("logical cloud {cloud} was terminated while it was being applied")]
    TerminatedMeanwhile {
        /// Which logical cloud.
        cloud: LogicalCloudName,
    },
    /// It was changed since it was planned: what was planned is not brought to clusters.
    #[error(
        "logical cloud {cloud} was changed by another client since it was planned; plan again, and apply that"
    )]
    Stale {
        /// Which logical cloud.
        cloud: LogicalCloudName,
    },
    /// The caller may not grant it. The refusal names the field, its value, the rule and the way out.
    #[error(transparent)]
    Forbidden(Refusal),
    /// It owns something.
    #[error("{kind} {owner} has {owned}s, such as {name}; {} them first", .owned.leaving())]
    NotEmpty {
        /// What it is: a project or a cluster provider.
        kind: Kind,
        /// Its name.
        owner: String,
        /// What it owns: logical clouds or clusters.
        owned: Kind,
        /// The name of one of them.
        name: String,
    },
    /// Logical clouds refer to the cluster, or something of them is left on it.
    #[error("cluster {cluster} is used by {}; take it out of them, apply them and wait until it is cleared", .clouds.join(", "))]
    ClusterInUse {
        /// Which cluster.
        cluster: ClusterId,
        /// Which logical clouds, as `project/cloud`, in the order of their names.
        clouds: Vec<String>,
    },
    /// Logical clouds were taken off their clusters without this one; what they left there is cleared when it returns.
    #[error("{} left on cluster {cluster}, which is cleared when it returns", remains(.left))]
    LeftOnCluster {
        /// Which cluster.
        cluster: ClusterId,
        /// What is left there.
        left: Vec<synchronizer::Tombstone>,
    },
    /// The namespace belongs to somebody else.
    #[error("namespace {namespace} of cluster {cluster} belongs to {winner}")]
    NamespaceTaken {
        /// The namespace.
        namespace: Arc<str>,
        /// The cluster.
        cluster: ClusterId,
        /// Whom it belongs to.
        winner: Winner,
    },
    /// It is in the documents, and was not brought to the clusters yet, or not any more.
    #[error("{kind} {name} is not applied; apply the logical cloud first")]
    NotApplied {
        /// What it is.
        kind: Kind,
        /// Its name.
        name: String,
    },
    /// The logical cloud has not just one user, so one must be named.
    #[error("{}", name_one(.users))]
    UserNotNamed {
        /// Its users.
        users: Vec<UserName>,
    },
    /// There is nothing to hand out yet.
    #[error("{user} has no credential for {reference}: {missing}")]
    NotIssued {
        /// The user.
        user: UserName,
        /// The cluster reference.
        reference: ReferenceName,
        /// Why not, and when the next try is.
        missing: Box<Missing>,
    },
    /// The certificate that a cluster gave is not what was asked for; it is not handed out.
    #[error("the certificate of {user} that cluster {cluster} gave is not handed out")]
    Certificate {
        /// The user.
        user: UserName,
        /// The cluster.
        cluster: ClusterId,
        /// What is wrong with it.
        #[source]
        source: Box<CertificateRefused>,
    },
    /// A registered cluster's kubeconfig does not say where the cluster is.
    #[error("the kubeconfig of cluster {cluster} can't be used")]
    Kubeconfig {
        /// Which cluster.
        cluster: ClusterId,
        /// What is wrong with it.
        #[source]
        source: kubeconfig::Invalid,
    },
    /// A registered cluster's kubeconfig leads to another endpoint than the accepted one.
    #[error(
        "the kubeconfig of cluster {cluster} leads to another server, or trusts other authorities, than the accepted one; dcm cluster \
         accept {cluster} accepts it"
    )]
    Moved {
        /// Which cluster.
        cluster: ClusterId,
    },
    /// The user keeps the private key, so only the user can renew the credential.
    #[error(
        "{user} keeps the private key: nobody else can renew its certificate; make a new request of the same subject (dcm \
         subject), put it into the document, and apply that"
    )]
    NeedsUser {
        /// The user.
        user: UserName,
    },
    /// The user keeps the private key, so nobody else has a whole credential.
    #[error("{user} keeps the private key: take the certificate from the kubeconfig, and add the key to it")]
    KeepsKey {
        /// The user.
        user: UserName,
    },
    /// There is no key for a user.
    #[error("no key could be made for {user}")]
    Key {
        /// The user.
        user: UserName,
        /// What happened.
        #[source]
        source: key_source::Error,
    },
    /// The key source broke its contract: its request is not for the user.
    #[error("the key source made a wrong certificate request for {user}")]
    KeyRequest {
        /// The user.
        user: UserName,
        /// What is wrong with it.
        #[source]
        source: Box<RequestRefused>,
    },
    /// A certificate authority of the mesh could not be made.
    #[error("the certificate authority of {} could not be made", holder(.cluster.as_ref()))]
    Authority {
        /// The cluster; none for the root.
        cluster: Option<ClusterId>,
        /// What happened.
        #[source]
        source: Box<IssueError>,
    },
    /// The logical cloud can't be rendered.
    #[error("the logical cloud can't be rendered")]
    Render(#[from] render::Error),
    /// Somebody else changed the same thing again and again in the same moment; ask again.
    #[error("{kind} {name} was changed by another client meanwhile")]
    Contended {
        /// What it is.
        kind: Kind,
        /// Its name.
        name: String,
    },
    /// A document was written by a later version of this software.
    #[error("{path} has schema {found}, which is not known here")]
    UnknownSchema {
        /// Which document.
        path: store::Path,
        /// Its schema.
        found: u32,
    },
    /// A document can't be read: the store is damaged.
    #[error("{path} can't be read")]
    Unreadable {
        /// Which document.
        path: store::Path,
        /// What is wrong with it.
        #[source]
        source: store::Error,
    },
    /// A document that another one names is missing: the store is damaged.
    #[error("a part of logical cloud {cloud} is missing in the store: {part}")]
    Incomplete {
        /// Which logical cloud.
        cloud: LogicalCloudName,
        /// What is missing.
        part: String,
    },
    /// The synchronizer refused or failed.
    #[error(transparent)]
    Synchronizer(synchronizer::Error),
    /// The audit log could not be written, so nothing was changed.
    #[error("the audit log could not be written, and nothing was changed")]
    Audit(#[source] store::Error),
    /// The store failed.
    #[error("the store of documents failed")]
    Store(#[from] store::Error),
}

fn holder(cluster: Option<&ClusterId>) -> String {
    cluster.map_or_else(|| "the logical cloud".to_owned(), |cluster| format!("cluster {cluster}"))
}

impl Error {
    /// True when the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Contended { .. } | Self::NotIssued { .. } => true,
            Self::Store(source) | Self::Audit(source) => source.is_retryable(),
            Self::Synchronizer(source) => source.is_retryable(),
            Self::Key { source, .. } => source.is_retryable(),
            Self::Authority { source, .. } => source.is_retryable(),
            Self::Certificate { source, .. } => source.is_retryable(),
            Self::NotFound { .. }
            | Self::AlreadyThere { .. }
            | Self::PreconditionFailed { .. }
            | Self::Refused(_)
            | Self::WrongState(_)
            | Self::NotHandedOver { .. }
            | Self::TerminatedMeanwhile { .. }
            | Self::Stale { .. }
            | Self::Forbidden(_)
            | Self::NotEmpty { .. }
            | Self::ClusterInUse { .. }
            | Self::LeftOnCluster { .. }
            | Self::NamespaceTaken { .. }
            | Self::NotApplied { .. }
            | Self::UserNotNamed { .. }
            | Self::NeedsUser { .. }
            | Self::KeepsKey { .. }
            | Self::Kubeconfig { .. }
            | Self::Moved { .. }
            | Self::KeyRequest { .. }
            | Self::Render(_)
            | Self::UnknownSchema { .. }
            | Self::Unreadable { .. }
            | Self::Incomplete { .. } => false,
        }
    }

    /// True for a lost race that a service tries again by itself.
    pub(super) fn is_lost_race(&self) -> bool {
        matches!(self, Self::Store(store::Error::Conflict { .. }))
    }

    /// What was read is another one by now.
    pub(super) fn lost_race(path: store::Path) -> Self {
        Self::Store(store::Error::Conflict { path, found: None })
    }

    pub(super) fn not_found(kind: Kind, name: impl fmt::Display) -> Self {
        Self::NotFound { kind, name: name.to_string(), project: None }
    }

    pub(super) fn no_cloud(project: &ProjectName, cloud: impl fmt::Display) -> Self {
        let (name, project) = (cloud.to_string(), Some(project.clone()));
        Self::NotFound { kind: Kind::LogicalCloud, name, project }
    }

    pub(super) fn contended(kind: Kind, name: impl fmt::Display) -> Self {
        Self::Contended { kind, name: name.to_string() }
    }
}

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A project.
    Project,
    /// A logical cloud.
    LogicalCloud,
    /// A user of a logical cloud.
    User,
    /// A user permission.
    Permission,
    /// A quota.
    Quota,
    /// A cluster reference.
    Reference,
    /// A set of key-value pairs.
    KeyValues,
    /// The service mesh of a logical cloud.
    ServiceMesh,
    /// A registered cluster.
    Cluster,
    /// A cluster provider.
    Provider,
    /// A label of a registered cluster.
    ClusterLabel,
    /// A set of key-value pairs of a registered cluster.
    ClusterKeyValues,
    /// A controller.
    Controller,
}

impl Kind {
    /// How such things go, in messages.
    fn leaving(self) -> &'static str {
        if self == Self::Cluster { "remove" } else { "delete" }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "project",
            Self::LogicalCloud => "logical cloud",
            Self::User => "user",
            Self::Permission => "user permission",
            Self::Quota => "quota",
            Self::Reference => "cluster reference",
            Self::KeyValues | Self::ClusterKeyValues => "set of key-value pairs",
            Self::ServiceMesh => "service mesh",
            Self::Cluster => "cluster",
            Self::Provider => "cluster provider",
            Self::ClusterLabel => "label",
            Self::Controller => "controller",
        })
    }
}

/// Whom a namespace of a cluster belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Winner {
    /// A logical cloud.
    LogicalCloud {
        /// Its project.
        project: ProjectName,
        /// Its name.
        cloud: LogicalCloudName,
    },
    /// An app context that is no logical cloud's of this store.
    AppContext(ContextId),
    /// Something of another project, of which the caller is not told.
    OtherProject,
}

impl fmt::Display for Winner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogicalCloud { project, cloud } => write!(f, "logical cloud {cloud} of project {project}"),
            Self::AppContext(context) => write!(f, "app context {context}"),
            Self::OtherProject => f.write_str("another project"),
        }
    }
}

/// How much is left, in words.
fn remains(left: &[synchronizer::Tombstone]) -> String {
    let objects: usize = left.iter().map(|tombstone| tombstone.objects.len()).sum();
    let contexts: Vec<&str> = left.iter().map(|tombstone| tombstone.context.as_str()).collect();
    format!("{objects} objects of {} are", contexts.join(", "))
}

fn in_project(project: Option<&ProjectName>) -> String {
    project.map(|project| format!(" in project {project}")).unwrap_or_default()
}

fn name_one(users: &[UserName]) -> String {
    if users.is_empty() {
        return "the logical cloud has no user".to_owned();
    }
    let users: Vec<&str> = users.iter().map(UserName::as_str).collect();
    format!("the logical cloud has several users; name one of {}", users.join(", "))
}
