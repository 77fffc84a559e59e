//! Removing the RoleBindings of other clients from a namespace that is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Call, Cluster, Deletion, Error, NAMESPACE_BINDING, Object};
use dcm_core::port::listing::list_all;
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::unbinding::leave_subjects;
use futures::stream::{self, StreamExt as _};

/// How many bindings of one namespace are removed at once.
const REMOVALS_AT_ONCE: usize = 8;

/// Deletes the RoleBindings in a namespace, but for those of this installation: its marks are proved, or it is the one by which the
/// engine has rights there. A binding that the cluster refuses to delete stays, and is counted afterwards. Returns the names of those
/// that stay without subjects, as a finalizer holds them.
///
/// # Errors
/// Those of the cluster after which the same may be tried again.
pub(super) async fn remove_others(
    client: &dyn Cluster,
    call: &Call,
    namespace: &str,
    proofs: Option<&ClusterProofKey>,
) -> Result<BTreeSet<Arc<str>>, Error> {
    let kind = GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "RoleBinding");
    let is_other = |mut binding: Object| {
        binding.disclaim_unproved(proofs);
        let is_ours = binding.marks.as_ref().is_some_and(|marks| marks.owner == call.owner);
        (!is_ours && &*binding.key.name != NAMESPACE_BINDING).then_some(binding)
    };
    let others = list_all(client, call, &kind, Some(namespace), is_other).await?;
    // Made before they are begun: one that borrows while it is made can't be sent to another thread.
    let remove = |binding: Object| async move {
        let removed = leave_subjects(client, call, &binding, &[]).await;
        (binding.key.name.clone(), removed)
    };
    let removals: Vec<_> = others.into_iter().map(remove).collect();
    let mut removals = stream::iter(removals).buffer_unordered(REMOVALS_AT_ONCE);
    let mut emptied = BTreeSet::new();
    while let Some((name, removed)) = removals.next().await {
        match removed {
            Ok(Deletion::Gone) => {}
            Ok(Deletion::Pending) => {
                emptied.insert(name);
            }
            Err(error) if error.is_retryable() || error.is_about_cluster() => return Err(error),
            Err(Error::NotFound) => {}
            Err(error) => tracing::warn!(%namespace, %name, %error, "a RoleBinding of another client stays"),
        }
    }
    Ok(emptied)
}
