//! Claims that an apply is about to make, remembered while it makes them.
//!
//! Claims are written before the root that names them. Where they are not written together with it, in one atomic batch, a
//! record says first which they are: should whoever applies the context die in between, the next one who applies it, or
//! forgets it, knows them.

use dcm_core::app_context::AppContext;
use dcm_core::name::ContextId;
use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{Version, Write};
use dcm_core::port::synchronizer::Error;

use super::Contexts;
use super::claims::{self, Named};
use crate::record::{Claiming, SCHEMA, path};

impl Contexts {
    /// What was claimed, or was about to be, by an apply that did not come to its end.
    pub(super) async fn claiming(&self, id: &ContextId) -> Result<Option<(Claiming, Version)>, Error> {
        self.read(&path::claiming(id)).await
    }

    /// Remembers claims that are about to be made, beside those that were left, and gives the version of the record;
    /// none where all is written at once, or not at all.
    pub(super) async fn remember_claims(
        &self,
        id: &ContextId,
        claims: Named,
        left: Option<(Claiming, Version)>,
        writes: &InOrder,
    ) -> Result<Option<Version>, Error> {
        let is_at_once = self.store.capabilities().atomic_batches && writes.is_one_batch();
        let (left, version) = left.unzip();
        if claims.is_empty() || is_at_once {
            return Ok(version);
        }
        let mut namespaces = left.map(|left| left.namespaces).unwrap_or_default();
        claims::join(&mut namespaces, claims);
        let record = Claiming { schema: SCHEMA, namespaces };
        let remembered = self.swap(path::claiming(id), version, &record).await?;
        remembered.map(Some).ok_or_else(|| Error::Contended { id: id.clone() })
    }

    /// True when nothing is left of an apply that was cut off but what is claimed anyway: then it is remembered no more.
    pub(super) async fn has_no_claims_left(&self, context: &AppContext) -> Result<bool, Error> {
        let Some((Claiming { namespaces, .. }, version)) = self.claiming(&context.id).await? else {
            return Ok(true);
        };
        let is_claimed = claims::leaving(namespaces, context).is_empty();
        if is_claimed {
            self.delete_all(vec![Write::Delete { path: path::claiming(&context.id), version }]).await?;
        }
        Ok(is_claimed)
    }

    /// After a refused apply: gives back what it claimed, but for what the current root holds. Where another apply has begun
    /// meanwhile, that one knows of all.
    pub(super) async fn give_claims_back(
        &self,
        id: &ContextId,
        held: &Named,
        remembered: Option<Version>,
    ) -> Result<(), Error> {
        let found = self.claiming(id).await?.filter(|(_, version)| Some(*version) == remembered);
        let Some((Claiming { namespaces, .. }, version)) = found else { return Ok(()) };
        let mut deletions = Vec::new();
        for path in claims::paths(&claims::without(namespaces, held)) {
            deletions.extend(self.own_claim(id, &path).await?);
        }
        deletions.push(Write::Delete { path: path::claiming(id), version });
        self.delete_all(deletions).await.map(drop)
    }
}
