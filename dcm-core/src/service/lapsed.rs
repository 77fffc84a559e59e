//! Bindings of other clients that name an identity of a logical cloud without rights of ours.
//!
//! A revocation and a termination take away what we granted. Another client may have bound the same name, in any namespace or in the
//! whole cluster: such a binding still gives rights until it is changed. It is looked for in all namespaces, and changed on request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::causes::Reader;
use crate::logical_cloud::{Epoch, Scope, UserType};
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::name::{ClusterId, ContextId, LogicalCloudName, Namespace, ProjectName, UserName};
use crate::port::cluster::{Call, Cluster, Error as ClusterError, Object};
use crate::port::listing::list_all;
use crate::port::proof::{ClusterProofKey, ProofKey};
use crate::port::unbinding::leave_subjects;
use crate::render::naming;
use crate::status::LaneState;

use super::credentials;
use super::documents::Root;
use super::error::{Error, Kind};
use super::load::{self, Found, Frozen, Loaded};
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
    /// The app context of a logical cloud that is terminated: nothing with its marks is to stay, so a binding that has them is no exception.
    /// Any client can copy marks to another object of the same name.
    pub ended: Option<ContextId>,
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
#[derive(Debug, Clone, Default)]
pub struct OtherBindings {
    /// The bindings that name one.
    pub found: Vec<ObjectKey>,
    /// The bindings that named one until it was removed from them.
    pub removed: Vec<ObjectKey>,
    /// The first binding that was not changed and should have been, and why.
    pub refused: Option<(ObjectKey, ClusterError)>,
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
        if self.names.is_empty() {
            return Ok(OtherBindings::default());
        }
        let proofs = match proofs {
            Some(key) => match cluster.uid(call).await.map_err(ClusterError::of_identity) {
                Ok(uid) => Some(key.on(&uid)),
                // Without the UID no mark is proved, and our bindings would count as those of other clients.
                Err(ClusterError::Forbidden { .. }) if clearing == Clearing::List => None,
                Err(error) => return Err(error),
            },
            None if clearing == Clearing::List => None,
            None => return Err(ClusterError::Unsupported { what: WITHOUT_PROOFS.to_owned() }),
        };
        let names = &Names::of(&self.names);
        let by = &By { cluster, call, proofs: proofs.as_ref(), names, ended: self.ended.as_ref() };
        let (found, unseen) = self.named(by).await?;
        let mut others = OtherBindings { found, unseen, ..OtherBindings::default() };
        if clearing == Clearing::Remove {
            by.remove(&mut others).await;
        }
        Ok(others)
    }

    /// The bindings that name one of the identities, and where more may be.
    async fn named(&self, by: &By<'_>) -> Result<(Vec<ObjectKey>, Vec<Unseen>), ClusterError> {
        let (mut named, mut unseen) = (Vec::new(), Vec::new());
        if !by.look("ClusterRoleBinding", None, &mut named).await? {
            unseen.push(Unseen::ClusterRoleBindings);
        }
        if by.look("RoleBinding", None, &mut named).await? {
            return Ok((named, unseen));
        }
        unseen.push(Unseen::OtherNamespaces);
        for namespace in &self.namespaces {
            if !by.look("RoleBinding", Some(namespace), &mut named).await? {
                unseen.push(Unseen::Namespace(namespace.clone()));
            }
        }
        Ok((named, unseen))
    }
}

const WITHOUT_PROOFS: &str = "removing bindings without the key that proves which are ours";

/// Where bindings are looked for, for which names, and what proves which are ours.
struct By<'a> {
    cluster: &'a dyn Cluster,
    call: &'a Call,
    proofs: Option<&'a ClusterProofKey>,
    names: &'a Names,
    ended: Option<&'a ContextId>,
}

impl By<'_> {
    /// Adds the bindings of a kind; false when the cluster does not allow us to list them.
    async fn look(
        &self,
        kind: &str,
        namespace: Option<&Namespace>,
        named: &mut Vec<ObjectKey>,
    ) -> Result<bool, ClusterError> {
        let keep = |binding: Object| self.is_other(&binding).then_some(binding.key);
        let namespace = namespace.map(Namespace::as_str);
        match list_all(self.cluster, self.call, &GroupVersionKind::new(RBAC, "v1", kind), namespace, keep)
            .await
        {
            Ok(found) => {
                named.extend(found);
                Ok(true)
            }
            Err(ClusterError::Forbidden { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the identities from the bindings that were found. If the cluster refuses that for one, the others are still tried; if the
    /// cluster itself fails, the rest stays.
    async fn remove(&self, others: &mut OtherBindings) {
        let mut found = std::mem::take(&mut others.found).into_iter();
        for key in found.by_ref() {
            let kind = GroupVersionKind::new(RBAC, "v1", &key.kind);
            let left = |binding: &Object| self.left(binding);
            let error = match leave_subjects(self.cluster, self.call, (&kind, &key), left).await {
                // Another client changed it since it was listed: it names none of the identities any more.
                Ok(None) => continue,
                Ok(Some(_)) => {
                    others.removed.push(key);
                    continue;
                }
                Err(error) => error,
            };
            let is_about_cluster = error.is_about_cluster();
            others.refused.get_or_insert_with(|| (key.clone(), error));
            others.found.push(key);
            if is_about_cluster {
                break;
            }
        }
        others.found.extend(found);
    }

    /// The subjects that a binding keeps; none where all stay.
    fn left(&self, binding: &Object) -> Option<Vec<Value>> {
        let subjects = binding.body["subjects"].as_array().into_iter().flatten();
        let left = || subjects.filter(|one| !self.names.have(one, binding)).cloned().collect();
        self.is_other(binding).then(left)
    }

    /// True for a binding that names one of the identities, and that the engine does not answer for.
    fn is_other(&self, binding: &Object) -> bool {
        let subjects = binding.body["subjects"].as_array();
        subjects.into_iter().flatten().any(|subject| self.names.have(subject, binding))
            && !self.is_ours(binding)
    }

    fn is_ours(&self, binding: &Object) -> bool {
        let marks = binding.proved_marks(self.proofs);
        marks.is_some_and(|marks| marks.owner == self.call.owner && Some(&marks.context) != self.ended)
    }
}

/// The identities, to find subjects among: a binding can have thousands.
struct Names {
    users: BTreeSet<String>,
    /// By namespace.
    accounts: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    fn of(names: &[BoundName]) -> Self {
        let (mut users, mut accounts) = (BTreeSet::new(), BTreeMap::<_, BTreeSet<_>>::new());
        for name in names {
            match name {
                BoundName::User { name } => {
                    users.insert(name.clone());
                }
                BoundName::ServiceAccount { namespace, name } => {
                    // Both spellings name the same account.
                    users.insert(format!("system:serviceaccount:{namespace}:{name}"));
                    accounts.entry(namespace.clone()).or_default().insert(name.clone());
                }
            }
        }
        Self { users, accounts }
    }

    /// True where a subject of a binding is one of them. An account without a namespace is in that of the binding.
    fn have(&self, subject: &Value, binding: &Object) -> bool {
        let Some(name) = subject["name"].as_str() else { return false };
        match subject["kind"].as_str() {
            Some("User") => self.users.contains(name),
            Some("ServiceAccount") => {
                let namespace = subject["namespace"].as_str().or(binding.key.namespace.as_deref());
                namespace
                    .and_then(|namespace| self.accounts.get(namespace))
                    .is_some_and(|names| names.contains(name))
            }
            _ => false,
        }
    }
}

/// [`OthersOnCluster`] of each cluster of a logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherBindingsReport {
    /// The clusters.
    pub clusters: BTreeMap<ClusterId, OthersOnCluster>,
}

impl OtherBindingsReport {
    /// The report of what was found or changed, for a reader.
    #[must_use]
    pub fn of(others: BTreeMap<ClusterId, Result<OtherBindings, ClusterError>>, reader: Reader) -> Self {
        let clusters = others.into_iter().map(|(id, others)| (id, OthersOnCluster::of(others, reader)));
        Self { clusters: clusters.collect() }
    }
}

impl OthersOnCluster {
    /// True when a binding still gives rights, or may do so as not all could be looked at.
    #[must_use]
    pub fn may_give_rights(&self) -> bool {
        !self.bindings.is_empty() || !self.bindings_unseen.is_empty() || self.bindings_unknown.is_some()
    }

    /// The report of a cluster that was looked at, or could not be, for a reader.
    #[must_use]
    pub fn of(others: Result<OtherBindings, ClusterError>, reader: Reader) -> Self {
        match others {
            Ok(OtherBindings { found, removed, refused, unseen }) => Self {
                bindings: found,
                bindings_removed: removed,
                bindings_refused: refused.map(|(key, error)| format!("{key}: {}", error.words_for(reader))),
                bindings_unseen: unseen.iter().map(ToString::to_string).collect(),
                bindings_unknown: None,
            },
            Err(error) => Self { bindings_unknown: Some(error.words_for(reader)), ..Self::default() },
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
        let ended = is_ended.then(|| loaded.place.context_id());
        Ok(Lapsed { names, clusters, ended, namespaces: namespaces_of(frozen, namespace) })
    }

    /// False when the identities may be in use again, as the terminated logical cloud is applied once more.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn have_lapsed(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        lapsed: &Lapsed,
    ) -> Result<bool, Error> {
        let Some(ended) = &lapsed.ended else { return Ok(true) };
        Ok(match load::find(&*self.documents, project, cloud).await? {
            Found::Standing(place, root, ..) => place.context_id() != *ended || root.newest().is_none(),
            _ => true,
        })
    }
}
