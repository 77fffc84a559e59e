//! Applying once more what is on clusters, with newer credentials: the frozen snapshot, never the edited documents.

use std::collections::{BTreeMap, BTreeSet};

use crate::app_context::Generation;
use crate::logical_cloud::{Epoch, Serial, User};
use crate::name::UserName;
use crate::port::synchronizer::Condition;

use super::authorities::{Authorities, Ensuring, Making, StoredAuthorities};
use super::caller::Change;
use super::credentials::{self, FIRST, StoredCredentials, Wanted};
use super::documents::{CredentialDocument, CredentialId, Material, Snapshot};
use super::error::{Error, Kind};
use super::freeze::Freezing;
use super::hand_over::app_context;
use super::load::{Frozen, Loaded};
use super::logical_clouds::LogicalClouds;
use super::requests;

/// In which way a credential is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Raise {
    /// By another one of the same identity: both are good side by side.
    Serial,
    /// By one of another identity: the earlier one loses its rights.
    Epoch,
}

/// A standing cloud with what is on its clusters.
pub(super) struct Standing {
    pub(super) loaded: Loaded,
    pub(super) frozen: Frozen,
    pub(super) stored: StoredCredentials,
    pub(super) authorities: StoredAuthorities,
}

impl Standing {
    /// What a user is to have, as it is frozen.
    fn wanted<'a>(&self, user: &'a User, since: &BTreeMap<UserName, u64>) -> Wanted<'a> {
        let since = since.get(&user.metadata.name).copied().unwrap_or_default();
        Wanted { user, since, incarnation: self.loaded.root.incarnation }
    }

    /// In which edit each user came into the cloud.
    fn since(&self) -> Result<BTreeMap<UserName, u64>, Error> {
        requests::users_since(&self.loaded.parts, &self.frozen.snapshot.contents)
    }

    /// The epoch of a user's identity when a terminated cloud is applied again after a revocation; none for a user who never had an
    /// identity.
    pub(super) fn next_epoch(&self, user: &UserName) -> Option<Epoch> {
        self.stored.get(user).map(|stored| credentials::next(stored.document.id.epoch))
    }

    /// The users whose next credential is stored, and was brought nowhere: a renewal was cut off.
    pub(super) fn begun(&self) -> Result<BTreeSet<UserName>, Error> {
        let since = self.since()?;
        let is_begun = |user: &&User| {
            let name = &user.metadata.name;
            let (Some(frozen), Some(stored)) =
                (self.frozen.snapshot.credentials.get(name), self.stored.get(name))
            else {
                return false;
            };
            let current = &stored.document;
            let next = next_id(&self.wanted(user, &since), *frozen, current, Raise::Serial);
            current.id.epoch == frozen.epoch && next.is_none()
        };
        Ok(self.frozen.cloud.users().iter().filter(is_begun).map(|user| user.metadata.name.clone()).collect())
    }
}

impl LogicalClouds {
    /// Hands the frozen snapshot over with new credentials for some of its users.
    pub(super) async fn apply_raised(
        &self,
        standing: &Standing,
        users: &BTreeSet<UserName>,
        raise: Raise,
        change: &Change,
    ) -> Result<(Snapshot, Generation), Error> {
        let Standing { loaded, frozen, .. } = standing;
        let place = &loaded.place;
        self.finish_what_was_planned(standing).await?;
        let made = self.make_raised(standing, users, raise, change)?;
        let condition = match raise {
            Raise::Serial => Condition::AsBefore,
            // Rights are taken away whatever a cluster is like.
            Raise::Epoch => Condition::Withdraw,
        };
        let (number, accounts) = (loaded.root.snapshots + 1, loaded.root.accounts);
        let mut snapshot = Snapshot { number, condition, made: change.clone(), ..frozen.snapshot.clone() };
        snapshot.credentials.extend(made.iter().map(|document| (document.user.clone(), document.id)));
        let mut rendered = credentials::of_snapshot(&snapshot, &standing.stored, accounts);
        let renewed = |document: &CredentialDocument| {
            (document.user.clone(), credentials::for_rendering(document, accounts))
        };
        rendered.extend(made.iter().map(renewed));
        let authorities = self.raised_authorities(standing, users, raise, change).await?;
        snapshot.authorities = authorities.digest();
        let context = app_context(place, &frozen.cloud, &rendered, &authorities.files())?;
        let writes = made
            .iter()
            .map(|document| credentials::write(place, standing.stored.get(&document.user), document));
        let keys = writes.chain(authorities.writes.into_iter().map(Ok)).collect::<Result<_, _>>()?;
        let freezing = Freezing { snapshot, incarnation: loaded.root.incarnation, keys };
        let id = self.reserve(loaded, &freezing).await?;
        let generation = self.hand_over(place, &id, &context, &freezing.snapshot.condition).await?;
        let generation = self.settle(place, &id, generation).await?;
        self.tidy_snapshots(place).await;
        Ok((freezing.snapshot, generation))
    }

    /// The authorities of the mesh that come with new credentials. Where new ones can't be made, credentials come with the stored ones: the next
    /// round makes the authorities alone, and reports why it fails.
    async fn raised_authorities(
        &self,
        standing: &Standing,
        users: &BTreeSet<UserName>,
        raise: Raise,
        change: &Change,
    ) -> Result<Authorities, Error> {
        let Standing { loaded, frozen, authorities, .. } = standing;
        let making = match raise {
            Raise::Serial => Making::Due,
            Raise::Epoch => Making::Missing,
        };
        let ensuring = Ensuring { change, frozen: Some(&frozen.cloud), making };
        match self.ensure_authorities(&loaded.place, &frozen.cloud, authorities, &ensuring).await {
            Err(_) if !users.is_empty() && authorities.has_all(&frozen.cloud) => {
                Ok(authorities.of(&frozen.cloud))
            }
            ensured => ensured,
        }
    }

    /// Finishes an apply that is bound to what was planned and was not handed over: it comes to clusters in no other way. Then
    /// the cloud is another one.
    async fn finish_what_was_planned(&self, standing: &Standing) -> Result<(), Error> {
        let Standing { loaded: Loaded { place, root, .. }, frozen, .. } = standing;
        let Some(applying) = &root.applying else { return Ok(()) };
        if !matches!(frozen.snapshot.condition, Condition::AsPlanned(_)) || root.is_begun_again() {
            return Ok(());
        }
        self.finish_applying(place, root, applying).await?;
        Err(Error::lost_race(place.root()))
    }

    /// Makes the credentials; nothing is written here. One that an earlier try has stored is taken as it is.
    fn make_raised(
        &self,
        standing: &Standing,
        users: &BTreeSet<UserName>,
        raise: Raise,
        change: &Change,
    ) -> Result<Vec<CredentialDocument>, Error> {
        let Standing { loaded: Loaded { place, .. }, frozen, stored, .. } = standing;
        let since = standing.since()?;
        let order = requests::order(&frozen.cloud.to_draft());
        let mut made = Vec::with_capacity(users.len());
        for name in users {
            let not_applied = || Error::NotApplied { kind: Kind::User, name: name.to_string() };
            let user = frozen.cloud.user(name).ok_or_else(not_applied)?;
            let frozen_id = *frozen.snapshot.credentials.get(name).ok_or_else(not_applied)?;
            let current = stored.get(name).ok_or_else(not_applied)?;
            let wanted = standing.wanted(user, &since);
            made.push(match next_id(&wanted, frozen_id, &current.document, raise) {
                None => current.document.clone(),
                // Its user keeps the key, and signs no request in another name by itself.
                Some(id) if raise == Raise::Epoch && !is_renewable(user) => {
                    self.credential_of(Material::Awaited, &wanted, id, Some(current), change)
                }
                Some(id) => self.make_credential(place, &wanted, id, Some(current), &order, change)?,
            });
        }
        Ok(made)
    }
}

/// Which credential takes the place of the frozen one; none when the stored one is it already: an earlier try was cut off
/// before the snapshot was stored.
fn next_id(
    wanted: &Wanted<'_>,
    frozen: CredentialId,
    current: &CredentialDocument,
    raise: Raise,
) -> Option<CredentialId> {
    let is_ahead = match raise {
        Raise::Serial => current.id > frozen,
        Raise::Epoch => current.id.epoch > frozen.epoch,
    };
    if is_ahead && wanted.missing(Some(current)).is_none() {
        return None;
    }
    let newest = current.id.max(frozen);
    Some(match raise {
        Raise::Serial => CredentialId { serial: Serial(newest.serial.0 + 1), ..newest },
        Raise::Epoch => CredentialId { epoch: Epoch(newest.epoch.0 + 1), serial: Serial(FIRST) },
    })
}

/// True for a user whose credential we can make anew.
pub(super) fn is_renewable(user: &User) -> bool {
    requests::own_request(user).is_none()
}
