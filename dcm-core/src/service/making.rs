//! Making credentials: keys, requests, and the documents that keep them.

use crate::logical_cloud::{Epoch, RequestNonce, RequestPem, User, UserType};
use crate::pki::{self, RequestRefused};
use crate::refusal::Checks;

use super::caller::Change;
use super::credentials::{Stored, Wanted};
use super::documents::{CredentialDocument, CredentialId, EarlierCredential, Material, SCHEMA};
use super::error::Error;
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::requests;
use super::validity::DELAY_STEPS;

impl LogicalClouds {
    /// Makes a credential; nothing is written here.
    pub(super) fn make_credential(
        &self,
        place: &Place,
        wanted: &Wanted<'_>,
        id: CredentialId,
        current: Option<&Stored>,
        order: &requests::Order,
        change: &Change,
    ) -> Result<CredentialDocument, Error> {
        let material = self.material(place, wanted.user, id.epoch, order)?;
        Ok(self.credential_of(material, wanted, id, current, change))
    }

    /// The document of a credential that is made of this.
    pub(super) fn credential_of(
        &self,
        material: Material,
        wanted: &Wanted<'_>,
        id: CredentialId,
        current: Option<&Stored>,
        change: &Change,
    ) -> CredentialDocument {
        let earlier =
            current.map(|current| earlier(wanted, id, &material, &current.document)).unwrap_or_default();
        CredentialDocument {
            schema: SCHEMA,
            user: wanted.user.metadata.name.clone(),
            id,
            since: wanted.since,
            incarnation: wanted.incarnation,
            lifetime_seconds: wanted.lifetime(),
            key_type: wanted.user.key,
            earlier,
            material,
            renewal_delay: u16::try_from(self.random.next() % u64::from(DELAY_STEPS)).unwrap_or_default(),
            changed: change.clone(),
        }
    }

    fn nonce(&self) -> RequestNonce {
        RequestNonce::from_random(self.random.next())
    }

    fn material(
        &self,
        place: &Place,
        user: &User,
        epoch: Epoch,
        order: &requests::Order,
    ) -> Result<Material, Error> {
        let name = &user.metadata.name;
        let subject = place.identity().subject(name, epoch);
        match &user.kind {
            UserType::Token => Ok(Material::Token),
            UserType::Certificate { own_request: Some(own) } => {
                let mut checks = Checks::default();
                requests::check(own, &subject, name, order, &mut checks);
                checks.finish(Some(()))?;
                Ok(Material::Certificate { request: own.clone(), nonce: self.nonce(), key: None })
            }
            UserType::Certificate { own_request: None } => {
                let failed = |source| Error::Key { user: name.clone(), source };
                let made = self.keys.issue_of(user.key, &subject).map_err(failed)?;
                let wrong = |source| Error::KeyRequest { user: name.clone(), source: Box::new(source) };
                pki::check_request(&made.request, &subject).map_err(wrong)?;
                let request =
                    RequestPem::new(&made.request).map_err(|_| wrong(RequestRefused::NotOneBlock))?;
                Ok(Material::Certificate { request, nonce: self.nonce(), key: Some(made.key) })
            }
        }
    }
}

/// What is still good beside a new credential. Nothing after a revocation, and nothing of an earlier incarnation: what
/// it was issued for is gone from the clusters.
fn earlier(
    wanted: &Wanted<'_>,
    id: CredentialId,
    material: &Material,
    current: &CredentialDocument,
) -> Vec<EarlierCredential> {
    let same_identity = current.id.epoch == id.epoch && current.incarnation == wanted.incarnation;
    let is_made_by_us = material.is_renewable() && current.material.is_renewable();
    let stays_good = is_made_by_us || material.is_same_request(&current.material);
    if same_identity && stays_good { current.clone().into_earlier() } else { Vec::new() }
}
