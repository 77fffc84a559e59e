//! Revoking a user: everything that was issued loses every right that we granted.
//!
//! Kubernetes can't take a certificate back. So rights are bound to a name that holds the user's epoch: revocation raises
//! it, and each binding names the next identity only. Bindings of other clients that name an earlier identity are looked for
//! separately: [`Lapsed`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::app_context::Generation;
use crate::logical_cloud::Epoch;
use crate::name::{ClusterId, ContextId, LogicalCloudName, Namespace, ProjectName, UserName};
use crate::port::audit::Action;
use crate::status::{Cause, ContextStatus, Intent, LaneStatus, ObjectState, ObjectStatus};

use super::audited::about_users;
use super::caller::{Caller, Change};
use super::credentials;
use super::documents::{Material, Root};
use super::error::{Error, Kind};
use super::lapsed::{BoundName, Lapsed, names_before, namespaces_of};
use super::load::{Loaded, contending};
use super::logical_clouds::LogicalClouds;
use super::raise::{Raise, Standing, is_renewable};
use super::writing;

/// The kinds of objects that make up a user's rights and identity.
const KINDS: [&str; 3] = ["RoleBinding", "ClusterRoleBinding", "ServiceAccount"];

/// What a revocation did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Revoked {
    /// Who.
    pub user: UserName,
    /// The identities that have no rights of ours any more, as bindings name them: the newest first, and that of the user's
    /// type before the other.
    pub earlier: Vec<BoundName>,
    /// The epoch of the next identity.
    pub epoch: Epoch,
    /// The generation of the app context that takes the rights away.
    pub generation: Generation,
    /// The cloud's namespaces: its own, and those that its permissions name.
    pub namespaces: BTreeSet<Namespace>,
    /// The clusters that it concerns. Whoever writes this down has more to say of each of them.
    #[serde(skip)]
    pub clusters: BTreeSet<ClusterId>,
    /// The app context of a logical cloud that is terminated ([`Lapsed::ended`]).
    #[serde(skip)]
    pub ended: Option<ContextId>,
    /// True when the user has to bring a new certificate request.
    pub needs_request: bool,
}

impl Revoked {
    /// What the revocations of a user take away, with a generation of the app context. `epoch` is that of the user's next identity.
    pub(super) fn of(
        standing: &Standing,
        user: &UserName,
        epoch: Option<Epoch>,
        generation: Generation,
    ) -> Result<Self, Error> {
        let not_applied = || Error::NotApplied { kind: Kind::User, name: user.to_string() };
        let Standing { frozen, loaded, .. } = standing;
        let namespace = frozen.snapshot.namespace.clone().ok_or_else(not_applied)?;
        let epoch = epoch.ok_or_else(not_applied)?;
        let document = frozen.cloud.user(user).ok_or_else(not_applied)?;
        let earlier = names_before(loaded, (user, Some(&document.kind)), &namespace, epoch);
        // What the next apply brings: the documents as they are, where nothing is applied.
        let edited = loaded.cloud.user(user).filter(|_| loaded.root.newest().is_none());
        let clusters = frozen.cloud.references().iter().map(|reference| reference.cluster.clone());
        Ok(Self {
            user: user.clone(),
            earlier,
            epoch,
            generation,
            namespaces: namespaces_of(frozen, namespace),
            clusters: clusters.collect(),
            ended: None,
            needs_request: !is_renewable(edited.unwrap_or(document)),
        })
    }

    /// What the revocations of a user of a terminated cloud take away, together with the termination.
    pub(super) fn of_ended(
        standing: &Standing,
        user: &UserName,
        context: Option<&ContextStatus>,
    ) -> Result<Self, Error> {
        let generation = match context {
            None => Generation::default(),
            // The removal is not handed over: no cluster can have brought it about.
            Some(context) if context.intent == Intent::Present => context.generation.next(),
            Some(context) => context.generation,
        };
        let mut revoked = Self::of(standing, user, standing.next_epoch(user), generation)?;
        revoked.ended = Some(standing.loaded.place.context_id());
        if context.is_none() {
            revoked.clusters.clear();
        }
        Ok(revoked)
    }

    /// True when a cluster has taken the rights away. A binding that somebody else has changed, and that is left so, may
    /// name anybody: where there is one, this is not claimed.
    #[must_use]
    pub fn is_done_in(&self, lane: &LaneStatus) -> bool {
        lane.observed_generation >= self.generation && !lane.objects.iter().any(is_open)
    }

    /// What is in the way on a cluster where the rights are not taken away; none when it only takes its time.
    #[must_use]
    pub fn cause_in<'a>(&self, lane: &'a LaneStatus) -> Option<&'a Cause> {
        let of_object =
            || lane.objects.iter().filter(|object| is_open(object)).find_map(|one| one.cause.as_ref());
        lane.cause.as_ref().or_else(of_object)
    }

    /// The earlier identities, and where bindings may name them.
    #[must_use]
    pub fn lapsed(&self) -> Lapsed {
        let Self { earlier, namespaces, clusters, ended, .. } = self;
        Lapsed {
            names: earlier.clone(),
            namespaces: namespaces.clone(),
            clusters: clusters.clone(),
            ended: ended.clone(),
        }
    }
}

/// True for a part of a user's rights or identity that may still be as it was.
fn is_open(object: &ObjectStatus) -> bool {
    match object.state {
        ObjectState::Pending | ObjectState::Removing => KINDS.contains(&&*object.key.kind),
        ObjectState::Drifted => object.key.is_binding(),
        ObjectState::Applied | ObjectState::Adopted | ObjectState::Edited | ObjectState::Kept => false,
    }
}

impl LogicalClouds {
    /// Revokes all that was ever issued for a user: it loses every right that was granted here, on each cluster as soon as
    /// that is reached. The user gets new credentials of another identity. What was applied is applied again, and no edit
    /// since. Of a cloud that was terminated, all rights go anyway: the user gets another identity when it is applied again. Returns
    /// when the synchronizer has taken it; a paused cloud goes on.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; errors of keys, of the store and the synchronizer.
    pub async fn revoke(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Revoked, Error> {
        let about = about_users(project, cloud, &BTreeSet::from([user.clone()]));
        let revoking =
            contending(Kind::LogicalCloud, cloud, || self.revoke_once(caller, project, cloud, user));
        self.audited(caller, Action::Revoke, about, revoking).await
    }

    async fn revoke_once(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Revoked, Error> {
        let standing = self.must_stand(project, cloud, user, Root::latest).await?;
        let change = self.change(caller);
        if standing.loaded.root.newest().is_none() {
            return self.revoke_ended(&standing, user, &change).await;
        }
        let users = BTreeSet::from([user.clone()]);
        let raised = self.apply_raised(&standing, &users, Raise::Epoch, &change).await;
        let (snapshot, generation) = raised.map_err(|error| match error {
            Error::TerminatedMeanwhile { .. } => Error::lost_race(standing.loaded.place.root()),
            other => other,
        })?;
        let id = standing.loaded.place.context_id();
        self.synchronizer.resume(&id).await.map_err(Error::Synchronizer)?;
        let epoch = snapshot.credentials.get(user).map(|id| id.epoch);
        Revoked::of(&standing, user, epoch, generation)
    }

    /// Revokes a user of a terminated cloud: the termination takes the rights away, and no later apply gives them to the same identity.
    async fn revoke_ended(
        &self,
        standing: &Standing,
        user: &UserName,
        change: &Change,
    ) -> Result<Revoked, Error> {
        let Standing { loaded: Loaded { place, .. }, stored, .. } = standing;
        let current = stored.get(user).filter(|current| current.document.material != Material::Retired);
        if let Some(current) = current {
            let retired = credentials::retired(&current.document, change);
            let write = credentials::write(place, Some(current), &retired)?;
            writing::write_in_order(&*self.documents, vec![write], |_| false).await?;
        }
        // An apply that has read the credential before can't commit after this.
        let root = self.change_root(place, Root::count_revocation).await?;
        if root.newest().is_some() {
            return Err(Error::lost_race(place.root()));
        }
        self.remove_again(place, &root).await?;
        let id = place.context_id();
        let context = self.synchronizer.status(&id).await.map_err(Error::Synchronizer)?;
        if context.as_ref().is_some_and(|context| context.paused) {
            self.synchronizer.resume(&id).await.map_err(Error::Synchronizer)?;
        }
        Revoked::of_ended(standing, user, context.as_ref())
    }
}
