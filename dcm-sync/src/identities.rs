//! Under which name a cluster is worked on: its UID belongs to one name alone.
//!
//! Two names of one cluster would be two lanes that take each other's objects away. So before a cluster is worked on under
//! a name, its UID is claimed for the name, by one create: of two that come at once, one finds the other.

use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::store::{self, Document, Store, StoreExt as _, Write};

use crate::record::{self, IdentityClaim, SCHEMA, Shard, path};

/// How often a claim is tried that others change at the same time.
const TRIES: usize = 8;

/// Claims a cluster's UID for a name. Gives the name that has it, where that is another one.
pub(crate) async fn claim(
    store: &dyn Store,
    cluster: &ClusterId,
    uid: &ClusterUid,
) -> Result<Option<ClusterId>, store::Error> {
    let path = path::identity(uid);
    let claim = IdentityClaim { schema: SCHEMA, uid: uid.clone(), cluster: cluster.clone() };
    let mut tries = TRIES;
    loop {
        let document = Document::from_value(&claim)?;
        let write = match store.get(&path).await? {
            None => Write::Create { path: path.clone(), document },
            Some(entry) => {
                let IdentityClaim { cluster: claimed, .. } = record::read(&entry)?;
                if claimed == *cluster {
                    return Ok(None);
                }
                match holder_of(store, claimed, uid).await? {
                    Some(first) => return Ok(Some(first)),
                    None => Write::Update { path: path.clone(), version: entry.version, document },
                }
            }
        };
        match store.write_one(write).await {
            Ok(_) => return Ok(None),
            Err(store::Error::Conflict { .. }) if tries > 1 => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// The name under which a cluster of this UID is worked on; none where there is none.
pub(crate) async fn holder(store: &dyn Store, uid: &ClusterUid) -> Result<Option<ClusterId>, store::Error> {
    let Some(entry) = store.get(&path::identity(uid)).await? else { return Ok(None) };
    let IdentityClaim { cluster, .. } = record::read(&entry)?;
    holder_of(store, cluster, uid).await
}

/// The name in a claim; none where that name stands for another cluster by now.
async fn holder_of(
    store: &dyn Store,
    cluster: ClusterId,
    uid: &ClusterUid,
) -> Result<Option<ClusterId>, store::Error> {
    let Some(shard) = store.get(&path::shard(&cluster)).await? else { return Ok(Some(cluster)) };
    let Shard { identity, .. } = record::read(&shard)?;
    Ok(identity.is_none_or(|identity| identity == *uid).then_some(cluster))
}

/// Gives back all that is claimed for a name.
pub(crate) async fn release(store: &dyn Store, cluster: &ClusterId) -> Result<(), store::Error> {
    for entry in store.list_all(&path::identities()).await? {
        match record::read(&entry) {
            Ok(IdentityClaim { cluster: holder, .. }) if holder == *cluster => {}
            Ok(_) => continue,
            // One that is damaged keeps no other from being given back.
            Err(error) => {
                tracing::warn!(path = %entry.path, error = &error as &dyn std::error::Error, "can't read a claim");
                continue;
            }
        }
        match store.write_one(Write::Delete { path: entry.path, version: entry.version }).await {
            // Another client has changed it: then it is not this name's.
            Ok(_) | Err(store::Error::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
