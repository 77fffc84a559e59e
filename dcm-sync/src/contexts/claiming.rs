//! Claims that an apply is about to make, remembered while it makes them.
//!
//! Claims are written before the root that names them. Where they are not written together with it, in one atomic batch, a
//! record says first which they are: should whoever applies the context die in between, the next one who applies it, or
//! forgets it, knows them.

use std::collections::BTreeSet;

use dcm_core::app_context::AppContext;
use dcm_core::name::ContextId;
use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{Path, StoreExt as _, Version, Write};
use dcm_core::port::synchronizer::Error;

use super::Contexts;
use super::claims::{self, Named};
use super::writing::manifests_of;
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

    /// Remembers no more what an apply that was cut off left, when that is claimed anyway; false when it left more.
    pub(super) async fn settle_claiming(&self, context: &AppContext) -> Result<bool, Error> {
        let Some((Claiming { namespaces, .. }, version)) = self.claiming(&context.id).await? else {
            return Ok(true);
        };
        let is_claimed = claims::leaving(namespaces, context).is_empty();
        if is_claimed {
            self.delete_all(vec![Write::Delete { path: path::claiming(&context.id), version }]).await?;
        }
        Ok(is_claimed)
    }

    /// After a refused apply: gives back what it claimed, but for what the root holds.
    pub(super) async fn give_claims_back(
        &self,
        id: &ContextId,
        claimed: &Named,
        remembered: Option<Version>,
    ) -> Result<(), Error> {
        // Read before all that may say that somebody else needs them: who claims one later writes it again.
        let mut claims = self.own_claims(id, claimed).await?;
        match self.claiming(id).await? {
            Some((left, version)) if Some(version) == remembered => {
                let others = claims::without(left.namespaces, claimed);
                claims.extend(self.own_claims(id, &others).await?);
                self.give_back(id, claims, Some(Write::Delete { path: path::claiming(id), version })).await
            }
            // Another apply came to its end meanwhile: what of ours came later it did not know.
            None if remembered.is_some() => self.give_back(id, claims, None).await,
            // Another apply has begun meanwhile, and knows of all.
            _ => Ok(()),
        }
    }

    async fn give_back(&self, id: &ContextId, claims: Vec<Write>, last: Option<Write>) -> Result<(), Error> {
        let mut held = Named::new();
        if let Some((root, _)) = self.root(id).await? {
            let stored = self.store.list_all(&path::manifests(id)).await?;
            held = claims::named(&root, &manifests_of(&root, &stored)?);
            claims::join(&mut held, self.leaving(id, &root).await?);
        }
        let held: BTreeSet<Path> = claims::paths(&held).collect();
        let claims = claims.into_iter().filter(|claim| !held.contains(claim.path()));
        self.delete_all(claims.chain(last).collect()).await.map(drop)
    }
}
