//! The key of the proofs that objects on clusters carry: a secret of the installation, kept in its store.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::clock::Clock;
use dcm_core::port::proof::{PROOF_BYTES, ProofKey};
use dcm_core::port::store::{self, Document, Entry, Store, StoreExt as _, Write};
use dcm_core::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::record::{self, SCHEMA, Schema, path};

/// The key as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredKey {
    schema: Schema,
    key: Secret,
}

/// The installation's key; none while no engine has run on this store.
pub(crate) async fn key(store: &dyn Store) -> Result<Option<ProofKey>, store::Error> {
    store.get(&path::proofs()).await?.as_ref().map(read).transpose()
}

/// Reads a key from its document.
pub(crate) fn read(entry: &Entry) -> Result<ProofKey, store::Error> {
    let StoredKey { key, .. } = record::read(entry)?;
    ProofKey::parse(&key).ok_or_else(|| store::Error::Failed {
        reason: format!("{} holds no key of {PROOF_BYTES} bytes", entry.path),
        source: None,
    })
}

/// The installation's key; these bytes become it where there is none. Of workers that begin at once the first one makes it.
pub(crate) async fn key_or_made_of(
    store: &dyn Store,
    bytes: &[u8; PROOF_BYTES],
) -> Result<ProofKey, store::Error> {
    if let Some(key) = key(store).await? {
        return Ok(key);
    }
    let document = Document::from_value(&StoredKey { schema: SCHEMA, key: ProofKey::text_of(bytes) })?;
    match store.write_one(Write::Create { path: path::proofs(), document }).await {
        Ok(_) => Ok(ProofKey::new(bytes)),
        Err(conflict @ store::Error::Conflict { .. }) => key(store).await?.ok_or(conflict),
        Err(error) => Err(error),
    }
}

/// The installation's key, over failures of the store, with this wait after each; these bytes where it has none yet.
pub(crate) async fn key_at_last(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    bytes: [u8; PROOF_BYTES],
    wait: Duration,
) -> ProofKey {
    loop {
        match key_or_made_of(&*store, &bytes).await {
            Ok(key) => return key,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the key of the installation's proofs can't be read or kept: a durable store has to be encrypted"
                );
                clock.sleep(wait).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::app_context::Generation;
    use dcm_core::manifest::{GroupVersionKind, ObjectKey};
    use dcm_core::name::{ContextId, OwnerId};
    use dcm_core::port::cluster::{ClusterUid, Marks, Origin};
    use dcm_core::port::proof::Proof;
    use dcm_store::memory::MemoryStore;

    use super::*;

    fn proof(key: &ProofKey) -> Proof {
        let object = ObjectKey::of_kind(&GroupVersionKind::new("", "v1", "Namespace"), None, "n");
        let (owner, context) = (OwnerId::new("dcm").unwrap(), ContextId::new("lc-1").unwrap());
        let marks =
            Marks { owner, context, generation: Generation(1), manifest: None, origin: Origin::Created };
        key.on(&ClusterUid("c".into())).prove(&object, &marks)
    }

    #[tokio::test]
    async fn the_first_worker_makes_the_key_and_all_others_have_it() {
        let store = MemoryStore::new();
        assert!(key(&store).await.unwrap().is_none());
        let first = key_or_made_of(&store, &[1; PROOF_BYTES]).await.unwrap();
        let second = key_or_made_of(&store, &[2; PROOF_BYTES]).await.unwrap();
        let read = key(&store).await.unwrap().unwrap();
        assert_eq!(proof(&first), proof(&ProofKey::new(&[1; PROOF_BYTES])));
        assert_eq!((proof(&second), proof(&read)), (proof(&first), proof(&first)));
    }

    #[test]
    fn the_key_is_stored_as_a_secret() {
        let stored = StoredKey { schema: SCHEMA, key: ProofKey::text_of(&[7; PROOF_BYTES]) };
        let text = serde_json::to_string(&stored).unwrap();
        assert!(text.contains(&format!(r#"{{"$secret":"{}"}}"#, "07".repeat(PROOF_BYTES))), "{text}");
    }
}
