//! Removing subjects from bindings of other clients.

use serde_json::Value;

use super::cluster::Deletion::{self, Gone, Pending};
use super::cluster::{Call, Cluster, Error, Object, Precondition};

/// Leaves a RoleBinding or ClusterRoleBinding only these subjects, and deletes it where none is left. A finalizer that holds the
/// deleted object up keeps no right: its subjects are removed first. Returns whether the object still exists.
///
/// # Errors
/// Those of the cluster. [`Error::Conflict`] when the binding is not as it was observed; then nothing is changed.
pub async fn leave_subjects(
    cluster: &dyn Cluster,
    call: &Call,
    binding: &Object,
    left: &[Value],
) -> Result<Deletion, Error> {
    let Object { kind, key, .. } = binding;
    let finalizers = binding.body["metadata"]["finalizers"].as_array();
    let is_held = finalizers.is_some_and(|finalizers| !finalizers.is_empty());
    let (mut observed, mut has_subjects) = (binding.precondition(), true);
    if is_held || !left.is_empty() {
        match cluster.set_subjects(call, kind, key, &observed, left).await {
            Ok(changed) => (observed, has_subjects) = (changed.precondition(), false),
            // The role that it binds may be one that we may not bind. A deletion needs less.
            Err(Error::Forbidden { .. }) if left.is_empty() && binding.deleting.is_none() => {}
            Err(error) => return Err(error),
        }
    }
    if !left.is_empty() || binding.deleting.is_some() {
        return Ok(Pending);
    }
    delete(cluster, call, binding, &observed, has_subjects).await
}

/// Deletes a binding. One that stays for its finalizers and still has subjects is an error.
async fn delete(
    cluster: &dyn Cluster,
    call: &Call,
    Object { kind, key, .. }: &Object,
    observed: &Precondition,
    has_subjects: bool,
) -> Result<Deletion, Error> {
    match cluster.delete(call, kind, key, observed).await {
        Ok(Pending) if has_subjects => {
            let message =
                "a finalizer holds the deleted binding, and its subjects may not be changed".to_owned();
            Err(Error::Forbidden { message })
        }
        Err(Error::NotFound) => Ok(Gone),
        deleted => deleted,
    }
}
