//! Which credential each user is to have, and making those that are missing.
//!
//! A credential is (epoch, serial). A name is never used for two identities: a user who left and came back, or who
//! changed the type, gets the next epoch, and with it another name on clusters. What only needs another certificate or
//! token (another lifetime or request, a cloud that was terminated and is applied again) gets the next serial.

use std::collections::BTreeMap;

use crate::logical_cloud::{AccountSeed, Epoch, LifetimeSeconds, LogicalCloud, Serial, User, UserType};
use crate::name::UserName;
use crate::port::store::{Document, Entry, Store, StoreExt, Write};
use crate::render;

use super::caller::Change;
use super::documents::{CredentialDocument, CredentialId, Material, Snapshot, read};
use super::error::Error;
use super::load::Loaded;
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::{requests, writing};

/// The first epoch, and the first serial of each.
pub(super) const FIRST: u32 = 1;

/// A stored credential.
pub(super) struct Stored {
    pub(super) entry: Entry,
    pub(super) document: CredentialDocument,
}

/// The stored credentials of a cloud, by user.
pub(super) type StoredCredentials = BTreeMap<UserName, Stored>;

/// Reads the credentials of a cloud, those of users who are gone included.
pub(super) async fn list(store: &dyn Store, place: &Place) -> Result<StoredCredentials, Error> {
    let mut credentials = BTreeMap::new();
    for entry in store.list_all(&place.credentials()).await? {
        let document: CredentialDocument = read(&entry)?;
        credentials.insert(document.user.clone(), Stored { entry, document });
    }
    Ok(credentials)
}

/// The epoch that a user's certificates have, or will have once it is applied.
pub(super) fn certificate_epoch(current: Option<&CredentialDocument>, since: u64) -> Epoch {
    match current {
        None => Epoch(FIRST),
        Some(current) if current.since != since => next(current.id.epoch),
        Some(current) => match current.material {
            Material::Certificate { .. } | Material::Awaited => current.id.epoch,
            Material::Token | Material::Retired => next(current.id.epoch),
        },
    }
}

/// The epoch after one.
pub(super) fn next(epoch: Epoch) -> Epoch {
    Epoch(epoch.0 + 1)
}

/// What a user is to have.
pub(super) struct Wanted<'a> {
    pub(super) user: &'a User,
    /// The edit in which the user came into the cloud.
    pub(super) since: u64,
    /// How often the cloud was brought to clusters from nothing.
    pub(super) incarnation: u64,
}

impl Wanted<'_> {
    /// The lifetime to ask for, in seconds.
    pub(super) fn lifetime(&self) -> Option<i32> {
        self.user.lifetime.map(LifetimeSeconds::get)
    }

    /// The credential to make; none when the current one is good.
    pub(super) fn missing(&self, current: Option<&CredentialDocument>) -> Option<CredentialId> {
        let Some(current) = current else {
            return Some(CredentialId { epoch: Epoch(FIRST), serial: Serial(FIRST) });
        };
        let another_identity = CredentialId { epoch: next(current.id.epoch), serial: Serial(FIRST) };
        if current.since != self.since {
            return Some(another_identity);
        }
        let same_request = match (&self.user.kind, &current.material) {
            (UserType::Token, Material::Token) => true,
            (UserType::Certificate { own_request: None }, Material::Certificate { key, .. }) => key.is_some(),
            (
                UserType::Certificate { own_request: Some(own) },
                Material::Certificate { key: None, request, .. },
            ) => own == request,
            (UserType::Certificate { own_request: Some(_) }, Material::Certificate { .. })
            | (UserType::Certificate { .. }, Material::Awaited) => false,
            (_, Material::Retired)
            | (UserType::Token, Material::Certificate { .. } | Material::Awaited)
            | (UserType::Certificate { .. }, Material::Token) => return Some(another_identity),
        };
        let same = same_request
            && current.incarnation == self.incarnation
            && current.lifetime_seconds == self.lifetime()
            && current.key_type == self.user.key;
        let renewed = CredentialId { serial: Serial(current.id.serial.0 + 1), ..current.id };
        (!same).then_some(renewed)
    }
}

/// The credentials of a cloud's users, with what has to be written before any cluster hears of them.
#[derive(Default)]
pub(super) struct Ensured {
    pub(super) documents: BTreeMap<UserName, CredentialDocument>,
    pub(super) writes: Vec<Write>,
}

impl Ensured {
    /// Which credential each user is to have.
    pub(super) fn ids(&self) -> BTreeMap<UserName, CredentialId> {
        self.documents.iter().map(|(user, document)| (user.clone(), document.id)).collect()
    }

    pub(super) fn for_rendering(&self, accounts: AccountSeed) -> render::Credentials {
        let of = |(user, document): (&UserName, &_)| (user.clone(), for_rendering(document, accounts));
        self.documents.iter().map(of).collect()
    }
}

/// Writes a credential in the place of the stored one.
pub(super) fn write(
    place: &Place,
    current: Option<&Stored>,
    document: &CredentialDocument,
) -> Result<Write, Error> {
    let read = current.map(|current| &current.entry);
    Ok(writing::put(place.credential(&document.user), read, Document::from_value(document)?))
}

/// The credentials that a snapshot names, as rendering takes them. Rights stay bound to an identity whose credential is
/// not stored any more.
pub(super) fn of_snapshot(
    snapshot: &Snapshot,
    stored: &StoredCredentials,
    accounts: AccountSeed,
) -> render::Credentials {
    let credential = |(user, id): (&UserName, &CredentialId)| {
        let mut each = stored.get(user).into_iter().flat_map(|stored| stored.document.each());
        let request = each.find(|one| one.id == *id).and_then(|one| one.material.request());
        (user.clone(), render::Credential { epoch: id.epoch, serial: id.serial, request, accounts })
    };
    snapshot.credentials.iter().map(credential).collect()
}

/// A credential as rendering wants it.
pub(super) fn for_rendering(document: &CredentialDocument, accounts: AccountSeed) -> render::Credential {
    let request = document.material.request();
    render::Credential { epoch: document.id.epoch, serial: document.id.serial, request, accounts }
}

impl LogicalClouds {
    /// The credentials that the users of an edited cloud would have if it was applied; something takes the place of keys that
    /// would be made for it.
    pub(super) async fn credentials_to_be(
        &self,
        loaded: &Loaded,
        cloud: &LogicalCloud,
    ) -> Result<render::Credentials, Error> {
        let Loaded { place, root, parts, .. } = loaded;
        let stored = list(&*self.documents, place).await?;
        let users_since = requests::users_since(parts, &root.contents)?;
        let incarnation = root.incarnation + u64::from(root.newest().is_none());
        let credential = |user: &User| {
            let name = &user.metadata.name;
            // A user that is new comes with the next edit.
            let since = users_since.get(name).copied().unwrap_or(root.edit + 1);
            let current = stored.get(name).map(|stored| &stored.document);
            let wanted = Wanted { user, since, incarnation };
            let credential = match wanted.missing(current) {
                Some(id) => render::Credential::to_be_made(user, id.epoch, id.serial, root.accounts),
                None => for_rendering(current?, root.accounts),
            };
            Some((name.clone(), credential))
        };
        Ok(cloud.users().iter().filter_map(credential).collect())
    }

    /// Makes the credentials that are missing; nothing is written here.
    pub(super) fn ensure_credentials(
        &self,
        place: &Place,
        cloud: &LogicalCloud,
        stored: &StoredCredentials,
        since: &BTreeMap<UserName, u64>,
        incarnation: u64,
        change: &Change,
    ) -> Result<Ensured, Error> {
        let mut ensured = Ensured::default();
        let order = requests::order(&cloud.to_draft());
        for user in cloud.users() {
            let name = &user.metadata.name;
            let since = since.get(name).copied().unwrap_or_default();
            let wanted = Wanted { user, since, incarnation };
            let current = stored.get(name);
            let document = match wanted.missing(current.map(|current| &current.document)) {
                None => current.map(|current| current.document.clone()),
                Some(id) => {
                    let document = self.make_credential(place, &wanted, id, current, &order, change)?;
                    ensured.writes.push(write(place, current, &document)?);
                    Some(document)
                }
            };
            ensured.documents.extend(document.map(|document| (name.clone(), document)));
        }
        Ok(ensured)
    }
}

/// A credential without its keys. Its epoch stays: the next one of its user is of another.
pub(super) fn retired(document: &CredentialDocument, change: &Change) -> CredentialDocument {
    CredentialDocument {
        material: Material::Retired,
        earlier: Vec::new(),
        changed: change.clone(),
        ..document.clone()
    }
}

/// Forgets the keys of users who are gone. Their epochs stay.
pub(super) async fn retire(
    store: &dyn Store,
    place: &Place,
    cloud: &LogicalCloud,
    stored: &StoredCredentials,
    change: &Change,
) -> Result<(), Error> {
    let mut writes = Vec::new();
    for (user, Stored { entry, document }) in stored {
        if cloud.user(user).is_none() && document.material != Material::Retired {
            let document = Document::from_value(&retired(document, change))?;
            writes.push(writing::put(place.credential(user), Some(entry), document));
        }
    }
    writing::write_in_order(store, writes, |_| true).await?;
    Ok(())
}
