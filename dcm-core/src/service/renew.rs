//! Renewing credentials.
//!
//! A renewal raises the serial of a user and hands the frozen snapshot over once more: each cluster issues the newer
//! credential by itself, and until it has, what it issued before is handed out. A cluster that is not reached holds
//! nothing up elsewhere. The name that rights are bound to stays, so the earlier credential is good until it ends.
//!
//! Certificate authorities of a mesh are renewed with them: each cluster gets its own anew after two thirds of its validity.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::app_context::Generation;
use crate::logical_cloud::Serial;
use crate::name::{ClusterId, LogicalCloudName, ProjectName, UserName};
use crate::port::audit::{About, Action};
use crate::status::Intent;

use super::audited::about_users;
use super::caller::Caller;
use super::documents::{Root, SnapshotReference};
use super::error::{Error, Kind};
use super::issued::Credentials;
use super::load::{self, Frozen, Loaded};
use super::logical_clouds::LogicalClouds;
use super::outlook::{self, Outlook};
use super::path::Place;
use super::raise::{Raise, Standing, is_renewable};
use super::{authorities, credentials};

/// What a renewal did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Renewed {
    /// The users who get newer credentials, with the number of the newest.
    pub users: BTreeMap<UserName, Serial>,
    /// The clusters that get a newer certificate authority of the mesh. Absent where there are none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub authorities: BTreeSet<ClusterId>,
    /// The generation of the app context that brings them; none where nothing was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
}

/// What is to be done about a cloud's credentials.
pub(super) struct Looked {
    pub(super) standing: Standing,
    pub(super) outlooks: BTreeMap<UserName, Outlook>,
    /// Whose next credentials an earlier renewal has stored; it was cut off before it brought them anywhere.
    begun: BTreeSet<UserName>,
}

impl Looked {
    /// The clusters whose authority of the mesh is due.
    fn due_authorities(&self, now: Timestamp) -> BTreeSet<ClusterId> {
        self.standing.authorities.due(&self.standing.frozen, now)
    }

    /// When the first of a user's credentials, or of the mesh's authorities, is worth another look.
    pub(super) fn next(&self) -> Timestamp {
        let credentials = self.outlooks.values().map(Outlook::next);
        credentials
            .chain(self.standing.authorities.renewal(&self.standing.frozen))
            .min()
            .unwrap_or(Timestamp::MAX)
    }

    /// Whose credentials are due.
    pub(super) fn due(&self, now: Timestamp) -> BTreeSet<UserName> {
        let due = self.outlooks.iter().filter(|(_, outlook)| outlook.is_due(now));
        due.map(|(user, _)| user).chain(&self.begun).cloned().collect()
    }
}

impl LogicalClouds {
    /// Renews the credentials of one user, or of every user whose credentials are due: two thirds of their life are over. Certificate authorities
    /// of the mesh that are due are made anew as well.
    /// If none are due, finishes a renewal that was cut off and returns its users. Either way, each cluster is looked at again. Returns
    /// when the synchronizer has accepted the work; follow it with [`LogicalClouds::watch`].
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotApplied`]; [`Error::NeedsUser`] for one user who keeps the key; errors of keys,
    /// of the store and the synchronizer.
    pub async fn renew(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
    ) -> Result<Renewed, Error> {
        if let Some(user) = user {
            let once = || self.renew_user(caller, project, cloud, user);
            let renewing = load::contending(Kind::LogicalCloud, cloud, once);
            let about = about_users(project, cloud, &BTreeSet::from([user.clone()]));
            return self.audited(caller, Action::Renew, about, renewing).await;
        }
        let Some((place, renewed)) = self.renew_standing(caller, project, cloud).await? else {
            return Ok(Renewed::default());
        };
        if renewed.generation.is_none() {
            self.synchronizer.look_again(&place.context_id()).await.map_err(Error::Synchronizer)?;
        }
        Ok(renewed)
    }

    /// Renews the credentials that are due, as [`renew`](Self::renew) does, but looks at no cluster if none are. For a caller that has just
    /// applied the logical cloud: the apply looks at each cluster already.
    ///
    /// # Errors
    /// As of [`renew`](Self::renew).
    pub async fn renew_due(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Renewed, Error> {
        let renewed = self.renew_standing(caller, project, cloud).await?;
        Ok(renewed.map(|(_, renewed)| renewed).unwrap_or_default())
    }

    /// Renews the credentials that are due; none when nothing of the cloud is wanted on clusters.
    async fn renew_standing(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Option<(Place, Renewed)>, Error> {
        // The audit log gets an entry once it is known whose credentials are due: usually none are.
        let once = || async {
            let Some(looked) = self.look(project, cloud).await? else { return Ok(None) };
            let renewed = self.renew_or_finish(caller, &looked).await?;
            Ok(Some((looked.standing.loaded.place, renewed)))
        };
        load::contending(Kind::LogicalCloud, cloud, once).await
    }

    async fn renew_user(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Renewed, Error> {
        let standing = self.must_stand(project, cloud, user, Root::newest).await?;
        if standing.frozen.cloud.user(user).is_some_and(|user| !is_renewable(user)) {
            return Err(Error::NeedsUser { user: user.clone() });
        }
        self.renew_users(caller, &standing, &BTreeSet::from([user.clone()])).await
    }

    /// Renews what is due of a cloud that was looked at; where nothing is, a renewal that was cut off is finished.
    async fn renew_or_finish(&self, caller: &Caller, looked: &Looked) -> Result<Renewed, Error> {
        let renewed = self.renew_looked(caller, looked).await?;
        if renewed.generation.is_some() {
            return Ok(renewed);
        }
        let Standing { loaded: Loaded { place, root, parts, .. }, frozen, .. } = &looked.standing;
        let (Some(applying), Some(applied)) = (root.cut_off_renewal(), root.applied_snapshot()) else {
            self.tidy_snapshots(place).await;
            return Ok(renewed);
        };
        if !self.may_renew(place).await? {
            return Ok(renewed);
        }
        let before = match load::frozen(&*self.documents, place, parts, applied).await {
            // Replaced since: somebody else has finished it.
            Err(Error::Incomplete { .. }) => return Ok(renewed),
            read => read?.snapshot,
        };
        let newer = frozen.snapshot.credentials.iter();
        let newer = newer.filter(|(user, id)| before.credentials.get(*user) != Some(*id));
        let users: BTreeMap<UserName, Serial> = newer.map(|(user, id)| (user.clone(), id.serial)).collect();
        let about = about_users(&place.project, &place.cloud, &users.keys().cloned().collect());
        let finishing = async {
            let finished = self.finish_applying(place, root, applying).await?;
            let renewed = |generation| Renewed { users, generation: Some(generation), ..Renewed::default() };
            Ok(finished.map(renewed).unwrap_or_default())
        };
        self.audited(caller, Action::Renew, about, finishing).await
    }

    /// Renews what is due of a cloud that was looked at.
    pub(super) async fn renew_looked(&self, caller: &Caller, looked: &Looked) -> Result<Renewed, Error> {
        let now = self.clock.now();
        let (due, authorities) = (looked.due(now), looked.due_authorities(now));
        let place = &looked.standing.loaded.place;
        if (due.is_empty() && authorities.is_empty()) || !self.may_renew(place).await? {
            return Ok(Renewed::default());
        }
        let about = About { clusters: authorities, ..about_users(&place.project, &place.cloud, &due) };
        let renewing = self.renew_users(caller, &looked.standing, &due);
        self.audited(caller, Action::Renew, about, renewing).await
    }

    /// What is paused or being taken off stays so.
    async fn may_renew(&self, place: &Place) -> Result<bool, Error> {
        let status = self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?;
        Ok(status.is_some_and(|status| status.intent == Intent::Present && !status.paused))
    }

    async fn renew_users(
        &self,
        caller: &Caller,
        standing: &Standing,
        users: &BTreeSet<UserName>,
    ) -> Result<Renewed, Error> {
        let due = standing.authorities.due(&standing.frozen, self.clock.now());
        let (snapshot, generation) =
            self.apply_raised(standing, users, Raise::Serial, &self.change(caller)).await?;
        let is_same = snapshot.authorities == standing.frozen.snapshot.authorities;
        let authorities = if is_same { BTreeSet::new() } else { due };
        let renewed = snapshot.credentials.into_iter().filter(|(user, _)| users.contains(user));
        let users = renewed.map(|(user, id)| (user, id.serial)).collect();
        Ok(Renewed { users, authorities, generation: Some(generation) })
    }

    /// Looks at what is issued for a cloud; none when nothing of it is wanted on clusters.
    pub(super) async fn look(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Option<Looked>, Error> {
        let Some(standing) = self.standing(project, cloud, Root::newest).await? else { return Ok(None) };
        let Standing { loaded: Loaded { place, .. }, frozen: Frozen { snapshot, cloud }, stored, .. } =
            &standing;
        let results = self.results(place).await?;
        let now = self.clock.now();
        let mut issued = Credentials { place, snapshot, results: &results, status: None, now };
        let mut outlooks = outlook::of_all(cloud, stored, &issued);
        // Why something is not issued is read only where something is not.
        if outlooks.values().any(|outlook| outlook.is_pending) {
            let status = self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?;
            issued.status = status.as_ref();
            outlooks = outlook::of_all(cloud, stored, &issued);
        }
        let begun = standing.begun()?;
        Ok(Some(Looked { standing, outlooks, begun }))
    }

    /// A cloud with one of its snapshots, which the root names.
    pub(super) async fn standing(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        which: fn(&Root) -> Option<&SnapshotReference>,
    ) -> Result<Option<Standing>, Error> {
        let (loaded, found) = load::load_with(&*self.documents, project, cloud, which).await?;
        let Some(frozen) = found else { return Ok(None) };
        let stored = credentials::list(&*self.documents, &loaded.place).await?;
        let authorities = authorities::used(&*self.documents, &loaded.place, &frozen.cloud).await?;
        Ok(Some(Standing { loaded, frozen, stored, authorities }))
    }

    /// A cloud with one of its snapshots, as [`Self::standing`] gives it; there must be one, with this user.
    pub(super) async fn must_stand(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        which: fn(&Root) -> Option<&SnapshotReference>,
    ) -> Result<Standing, Error> {
        let not_applied = || Error::NotApplied { kind: Kind::LogicalCloud, name: cloud.to_string() };
        let standing = self.standing(project, cloud, which).await?.ok_or_else(not_applied)?;
        match (standing.frozen.cloud.user(user), standing.loaded.cloud.user(user)) {
            (Some(_), _) => Ok(standing),
            (None, Some(_)) => Err(Error::NotApplied { kind: Kind::User, name: user.to_string() }),
            (None, None) => Err(Error::not_found(Kind::User, user)),
        }
    }
}
