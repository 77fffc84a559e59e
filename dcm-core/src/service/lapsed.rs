//! Bindings of other clients that name an identity of a logical cloud without rights of ours.
//!
//! A revocation and a termination take away what we granted. Another client may have bound the same name, in any namespace or in the
//! whole cluster: such a binding still gives rights until it is changed. It is looked for in all namespaces, and changed on request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::causes;
use crate::logical_cloud::{Epoch, Scope, UserType};
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::name::{ClusterId, LogicalCloudName, Namespace, OwnerId, ProjectName, UserName};
use crate::port::cluster::{Call, Cluster, Error as ClusterError, Object};
use crate::port::listing::list_all;
use crate::port::proof::{ClusterProofKey, ProofKey};
use crate::port::unbinding;
use crate::render::naming;
use crate::status::LaneState;

use super::credentials;
use super::documents::Root;
use super::error::{Error, Kind};
use super::load::{Frozen, Loaded};
use super::logical_clouds::LogicalClouds;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Identities of a logical cloud that have no right of ours any more, and where bindings may name them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lapsed {
    /// The identities.
    pub names: Vec<BoundName>,
    /// The namespaces of the logical cloud: its own, and those that its permissions name.
    pub namespaces: BTreeSet<Namespace>,
    /// The clusters on which they are looked for.
    pub clusters: BTreeSet<ClusterId>,
}

/// The subject of a binding: a user or a ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind")]
pub enum BoundName {
    /// The common name of certificates.
    User {
        /// The name.
        name: String,
    },
    /// A ServiceAccount.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// Bindings of other clients on one cluster that name a [lapsed](Lapsed) identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherBindings {
    /// The bindings that name one.
    pub found: Vec<ObjectKey>,
    /// The bindings that named one until it was removed from them.
    pub removed: Vec<ObjectKey>,
    /// Why the first binding was not changed that should have been.
    pub refused: Option<String>,
    /// Where more of them may be, as the cluster does not allow us to list there.
    pub unseen: Vec<Unseen>,
}

/// A part of a cluster in which bindings could not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The ClusterRoleBindings.
    ClusterRoleBindings,
    /// The RoleBindings of namespaces that are not the cloud's.
    OtherNamespaces,
    /// The RoleBindings of this namespace of the cloud.
    Namespace(Namespace),
}

/// [`OtherBindings`] as they are reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OthersOnCluster {
    /// Bindings of other clients that name an identity without rights of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<ObjectKey>,
    /// Bindings that named one until it was removed from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings_removed: Vec<ObjectKey>,
    /// Why a binding was not changed that should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bindings_refused: Option<String>,
    /// Where more of them may be, as the cluster does not allow us to list there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings_unseen: Vec<String>,
    /// Why it is unknown whether such bindings exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bindings_unknown: Option<String>,
}

/// What to do with bindings that are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearing {
    /// List them.
    List,
    /// Remove the identities from them, and delete each binding that has no other subject.
    Remove,
}

impl Lapsed {
    /// Looks for bindings of other clients that name one of the identities: ClusterRoleBindings, and RoleBindings in every
    /// namespace. Where the cluster does not allow that, it looks in the namespaces of the logical cloud. A binding is ours where the key
    /// proves its marks, which any client can write.
    ///
    /// # Errors
    /// Those of the cluster, but for [`ClusterError::Forbidden`].
    pub async fn other_bindings(
        &self,
        cluster: &dyn Cluster,
        call: &Call,
        proofs: Option<&ProofKey>,
        clearing: Clearing,
    ) -> Result<OtherBindings, ClusterError> {
        let proofs = match proofs {
            Some(key) => match cluster.uid(call).await {
                Ok(uid) => Some(key.on(&uid)),
                // Without the UID no mark is proved, and our bindings would count as those of other clients.
                Err(ClusterError::Forbidden { .. }) if clearing == Clearing::List => None,
                Err(error) => return Err(error),
            },
            None if clearing == Clearing::List => None,
            None => return Err(ClusterError::Unsupported { what: WITHOUT_PROOFS.to_owned() }),
        };
        let by = &By { cluster, call, proofs: proofs.as_ref() };
        let (named, unseen) = self.named(by).await?;
        let mut others = OtherBindings { unseen, ..OtherBindings::default() };
        for binding in named {
            match clearing {
                Clearing::List => others.found.push(binding.key),
                Clearing::Remove => self.remove_from(by, binding, &mut others).await?,
            }
        }
        Ok(others)
    }

    /// The bindings that name one of the identities, and where more may be.
    async fn named(&self, by: &By<'_>) -> Result<(Vec<Object>, Vec<Unseen>), ClusterError> {
        let (mut named, mut unseen) = (Vec::new(), Vec::new());
        if !self.look(by, "ClusterRoleBinding", None, &mut named).await? {
            unseen.push(Unseen::ClusterRoleBindings);
        }
        if self.look(by, "RoleBinding", None, &mut named).await? {
            return Ok((named, unseen));
        }
        unseen.push(Unseen::OtherNamespaces);
        for namespace in &self.namespaces {
            if !self.look(by, "RoleBinding", Some(namespace), &mut named).await? {
                unseen.push(Unseen::Namespace(namespace.clone()));
            }
        }
        Ok((named, unseen))
    }

    /// Adds the bindings of a kind; false when the cluster does not allow us to list them.
    async fn look(
        &self,
        By { cluster, call, proofs }: &By<'_>,
        kind: &str,
        namespace: Option<&Namespace>,
        named: &mut Vec<Object>,
    ) -> Result<bool, ClusterError> {
        let kind = GroupVersionKind::new(RBAC, "v1", kind);
        let keep = |mut binding: Object| {
            binding.disclaim_unproved(*proofs);
            self.is_other(&binding, &call.owner).then_some(binding)
        };
        match list_all(*cluster, call, &kind, namespace.map(Namespace::as_str), keep).await {
            Ok(found) => {
                named.extend(found);
                Ok(true)
            }
            Err(ClusterError::Forbidden { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the identities from a binding. If the cluster refuses that, the others are still tried.
    async fn remove_from(
        &self,
        by: &By<'_>,
        binding: Object,
        others: &mut OtherBindings,
    ) -> Result<(), ClusterError> {
        let subjects = binding.body["subjects"].as_array().into_iter().flatten();
        let left: Vec<Value> = subjects.filter(|one| !self.names_subject(one, &binding)).cloned().collect();
        match unbinding::leave_subjects(by.cluster, by.call, &binding, &left).await {
            Ok(_) => others.removed.push(binding.key),
            Err(error) if error.is_about_cluster() => return Err(error),
            Err(error) => {
                others.refused.get_or_insert(format!("{}: {}", binding.key, causes::told(&error)));
                others.found.push(binding.key);
            }
        }
        Ok(())
    }

    /// True for a binding of another client that names one of the identities.
    fn is_other(&self, binding: &Object, owner: &OwnerId) -> bool {
        let is_ours = binding.marks.as_ref().is_some_and(|marks| marks.owner == *owner);
        let subjects = binding.body["subjects"].as_array();
        !is_ours && subjects.into_iter().flatten().any(|subject| self.names_subject(subject, binding))
    }

    fn names_subject(&self, subject: &Value, binding: &Object) -> bool {
        self.names.iter().any(|name| name.is_named(subject, binding.key.namespace.as_deref()))
    }
}

const WITHOUT_PROOFS: &str = "removing bindings without the key that proves which are ours";

/// Where bindings are looked for, and what proves which are ours.
struct By<'a> {
    cluster: &'a dyn Cluster,
    call: &'a Call,
    proofs: Option<&'a ClusterProofKey>,
}

/// [`OthersOnCluster`] of each cluster of a logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherBindingsReport {
    /// The clusters.
    pub clusters: BTreeMap<ClusterId, OthersOnCluster>,
}

impl OtherBindingsReport {
    /// The report of what was found or changed.
    #[must_use]
    pub fn of(others: BTreeMap<ClusterId, Result<OtherBindings, ClusterError>>) -> Self {
        let clusters = others.into_iter().map(|(id, others)| (id, OthersOnCluster::of(others)));
        Self { clusters: clusters.collect() }
    }
}

impl OthersOnCluster {
    /// The report of a cluster that was looked at, or could not be.
    #[must_use]
    pub fn of(others: Result<OtherBindings, ClusterError>) -> Self {
        match others {
            Ok(OtherBindings { found, removed, refused, unseen }) => Self {
                bindings: found,
                bindings_removed: removed,
                bindings_refused: refused,
                bindings_unseen: unseen.iter().map(ToString::to_string).collect(),
                bindings_unknown: None,
            },
            Err(error) => Self { bindings_unknown: Some(causes::told(&error)), ..Self::default() },
        }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClusterRoleBindings => f.write_str("ClusterRoleBindings"),
            Self::OtherNamespaces => f.write_str("RoleBindings outside of the cloud's namespaces"),
            Self::Namespace(namespace) => write!(f, "RoleBindings in {namespace}"),
        }
    }
}

impl fmt::Display for BoundName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { name } => write!(f, "User {name}"),
            Self::ServiceAccount { namespace, name } => write!(f, "ServiceAccount {namespace}/{name}"),
        }
    }
}

impl BoundName {
    /// True for a subject of a binding in this namespace; of a ClusterRoleBinding, in none.
    fn is_named(&self, subject: &Value, binding: Option<&str>) -> bool {
        match self {
            Self::User { name } => subject["kind"] == "User" && subject["name"] == **name,
            Self::ServiceAccount { namespace, name } => {
                // Both spellings name the same account.
                let as_user = format!("system:serviceaccount:{namespace}:{name}");
                (subject["kind"] == "ServiceAccount"
                    && subject["name"] == **name
                    && subject["namespace"].as_str().or(binding) == Some(&**namespace))
                    || (subject["kind"] == "User" && subject["name"] == *as_user)
            }
        }
    }
}

/// All identities that a user had before an epoch, of either type, as a user may have had both: the newest first, and that of the
/// user's type before the other.
pub(super) fn names_before(
    loaded: &Loaded,
    (user, kind): (&UserName, Option<&UserType>),
    namespace: &Namespace,
    epoch: Epoch,
) -> Vec<BoundName> {
    let Loaded { place, root, .. } = loaded;
    let of_epoch = |epoch: u32| {
        let certificate = BoundName::User { name: place.identity().common_name(user, Epoch(epoch)) };
        let account = BoundName::ServiceAccount {
            namespace: namespace.to_string(),
            name: naming::service_account(user, Epoch(epoch), root.accounts),
        };
        match kind {
            Some(UserType::Certificate { .. }) | None => [certificate, account],
            Some(UserType::Token) => [account, certificate],
        }
    };
    (1..epoch.0).rev().flat_map(of_epoch).collect()
}

/// The namespaces of an applied logical cloud: its own, and those that its permissions name.
pub(super) fn namespaces_of(frozen: &Frozen, namespace: Namespace) -> BTreeSet<Namespace> {
    let named = frozen.cloud.permissions().iter().filter_map(|permission| match &permission.scope {
        Scope::Namespace(named) => Some(named.clone()),
        Scope::CloudNamespace | Scope::ClusterWide => None,
    });
    named.chain([namespace]).collect()
}

impl LogicalClouds {
    /// The identities of all users, or of one, that have no right of ours any more: of an applied logical cloud, those before the ones
    /// that are applied; of a terminated one, all. Those of all users are not looked for on clusters that were abandoned.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; errors of the store and the synchronizer.
    pub async fn lapsed(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
    ) -> Result<Lapsed, Error> {
        if let Some(user) = user {
            return Ok(self.revocation(project, cloud, user).await?.0.lapsed());
        }
        let not_applied = || Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() };
        let standing = self.standing(project, cloud, Root::latest).await?.ok_or_else(not_applied)?;
        let (loaded, frozen) = (&standing.loaded, &standing.frozen);
        let namespace = frozen.snapshot.namespace.clone().ok_or_else(not_applied)?;
        let is_ended = loaded.root.newest().is_none();
        let names = standing.stored.iter().flat_map(|(user, stored)| {
            let applied = frozen.snapshot.credentials.get(user).filter(|_| !is_ended).map(|id| id.epoch);
            let epoch = applied.unwrap_or_else(|| credentials::next(stored.document.id.epoch));
            let kind = frozen.cloud.user(user).map(|user| &user.kind);
            names_before(loaded, (user, kind), &namespace, epoch)
        });
        let names = names.collect();
        let status =
            self.synchronizer.status(&loaded.place.context_id()).await.map_err(Error::Synchronizer)?;
        let is_abandoned = |id: &ClusterId| {
            let lane = status.as_ref().and_then(|status| status.lanes.get(id));
            lane.is_some_and(|lane| lane.state == LaneState::Abandoned)
        };
        let clusters = frozen.cloud.references().iter().map(|reference| reference.cluster.clone());
        let clusters = clusters.filter(|id| !is_abandoned(id)).collect();
        Ok(Lapsed { names, clusters, namespaces: namespaces_of(frozen, namespace) })
    }
}
