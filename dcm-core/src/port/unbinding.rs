//! Removing subjects from bindings of other clients.

use serde_json::Value;

use super::cluster::Deletion::{self, Gone, Pending};
use super::cluster::{Call, Cluster, Error, Object, Part, Precondition};
use crate::manifest::{GroupVersionKind, ObjectKey};

/// How often a binding is read and changed where another client changes it in between, or the server fails.
const ATTEMPTS_MAX: usize = 3;

/// Reads a RoleBinding or ClusterRoleBinding, leaves it the subjects that `choose` returns, and deletes it where none is left. A finalizer
/// that holds the deleted object up keeps no right: its subjects are removed first. Returns whether the object still exists, or none
/// where `choose` returns none: then nothing is changed.
///
/// # Errors
/// Those of the cluster. [`Error::Conflict`] when another client changed the binding in between each time.
pub async fn leave_subjects(
    cluster: &dyn Cluster,
    call: &Call,
    (kind, key): (&GroupVersionKind, &ObjectKey),
    choose: impl Fn(&Object) -> Option<Vec<Value>>,
) -> Result<Option<Deletion>, Error> {
    let mut attempt = 1;
    loop {
        let Some(binding) = cluster.get(call, kind, key).await? else { return Ok(Some(Gone)) };
        let Some(left) = choose(&binding) else { return Ok(None) };
        match change(cluster, call, &binding, &left).await {
            Err(Error::Conflict | Error::Server { .. }) if attempt < ATTEMPTS_MAX => attempt += 1,
            Err(Error::NotFound) => return Ok(Some(Gone)),
            changed => return changed.map(Some),
        }
    }
}

async fn change(
    cluster: &dyn Cluster,
    call: &Call,
    binding: &Object,
    left: &[Value],
) -> Result<Deletion, Error> {
    let Object { kind, key, .. } = binding;
    let (is_held, is_deleting) =
        (has_members(&binding.body["metadata"]["finalizers"]), binding.deleting.is_some());
    let (mut observed, mut has_subjects) = (binding.precondition(), has_members(&binding.body["subjects"]));
    if has_subjects && (is_held || is_deleting || !left.is_empty()) {
        let part = Part::Subjects(left.to_vec());
        match cluster.set_part(call, kind, key, &observed, &part).await {
            Ok(changed) => (observed, has_subjects) = (changed.precondition(), false),
            // The role that it binds may be one that we may not bind. A deletion needs less.
            Err(Error::Forbidden { .. } | Error::Invalid { .. }) if left.is_empty() && !is_deleting => {}
            Err(error) => return Err(error),
        }
    }
    if !left.is_empty() || is_deleting {
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
            let message = "a finalizer holds the deleted binding, and its subjects may not be changed";
            Err(Error::Forbidden { message: message.into() })
        }
        deleted => deleted,
    }
}

fn has_members(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}
