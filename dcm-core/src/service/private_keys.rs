//! Private keys of users' certificates, found for whoever tries a certificate at its cluster.

use std::sync::Arc;

use async_trait::async_trait;

use crate::name::{ContextId, UserName};
use crate::port::store::{self, Entry, Store};
use crate::port::trial::PrivateKeys;
use crate::secret::Secret;

use super::documents::{ContextOwner, CredentialDocument, Material, read};
use super::issued;
use super::path::{self, Place};

/// The private keys that are stored with the credentials of logical clouds.
#[derive(Clone)]
pub struct StoredKeys {
    documents: Arc<dyn Store>,
}

impl StoredKeys {
    /// The keys in a store of documents.
    #[must_use]
    pub fn new(documents: Arc<dyn Store>) -> Self {
        Self { documents }
    }
}

#[async_trait]
impl PrivateKeys for StoredKeys {
    async fn private_key(&self, context: &ContextId, request: &str) -> Result<Option<Secret>, store::Error> {
        let Some(user) = user_of(request) else { return Ok(None) };
        let Some(owner) = self.documents.get(&path::context_owner(context)).await? else { return Ok(None) };
        let ContextOwner { project, cloud, uid, .. } = readable(&owner)?;
        let place = Place { project, cloud, uid };
        let Some(stored) = self.documents.get(&place.credential(&user)).await? else { return Ok(None) };
        let document: CredentialDocument = readable(&stored)?;
        let asked = document.each().find(|one| *issued::step(&user, *one) == *request);
        Ok(asked.and_then(|one| match one.material {
            Material::Certificate { key, .. } => key.clone(),
            Material::Token | Material::Awaited | Material::Retired => None,
        }))
    }
}

/// The user in the name of a request.
fn user_of(request: &str) -> Option<UserName> {
    UserName::new(request.split('/').nth(1)?).ok()
}

/// A document; one that can't be read is a failure of the store, as far as keys go.
fn readable<T: serde::de::DeserializeOwned>(entry: &Entry) -> Result<T, store::Error> {
    read(entry).map_err(|error| store::Error::Failed {
        reason: format!("{} can't be read", entry.path),
        source: Some(Arc::new(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_user() {
        assert_eq!(user_of("certificate/ann/1/2"), UserName::new("ann").ok());
        assert_eq!(user_of("developer"), None);
        assert_eq!(user_of("certificate//1/2"), None);
    }
}
