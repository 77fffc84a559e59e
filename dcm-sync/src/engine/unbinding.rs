//! Removing the RoleBindings of other clients from a namespace that is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{
    CONTENTS_SAMPLE_MAX, Call, Cluster, Contents, Deletion, Error, NAMESPACE_BINDING, NAMESPACE_ROLE, Object,
};
use dcm_core::port::listing::list_all;
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::unbinding::leave_subjects;
use futures::stream::{self, StreamExt as _};

/// Maximum number of bindings that are removed from one namespace: what a cluster takes in a burst of writes by default. The others stay,
/// and are named.
const REMOVALS_MAX: usize = 300;

/// How many bindings of one namespace are removed at once.
const REMOVALS_AT_ONCE: usize = 8;

/// The RoleBindings of other clients in a namespace after they were removed.
#[derive(Default)]
pub(super) struct Removed {
    /// Those without subjects, which a finalizer holds.
    emptied: BTreeSet<Arc<str>>,
    /// Those that the cluster does not let us change, or that were too many.
    left: BTreeSet<Arc<str>>,
}

impl Removed {
    /// Corrects what was counted afterwards: without what gives no right, and with all that does.
    pub(super) fn correct(self, contents: &mut Contents) {
        let counted = std::mem::take(&mut contents.bindings).into_iter();
        let counted = counted.filter(|name| !self.emptied.contains(name));
        let bindings: BTreeSet<_> = self.left.iter().cloned().chain(counted).collect();
        contents.bindings = bindings.into_iter().take(CONTENTS_SAMPLE_MAX).collect();
    }
}

/// Deletes the RoleBindings in a namespace, but for those of this installation: its marks are proved, or it binds the role by which the
/// engine has rights there. Without a key that proves marks, none is deleted.
///
/// # Errors
/// Those of the cluster itself, and [`Error::TooManyRequests`].
pub(super) async fn remove_others(
    client: &dyn Cluster,
    call: &Call,
    namespace: &str,
    proofs: Option<&ClusterProofKey>,
) -> Result<Removed, Error> {
    let Some(proofs) = proofs else { return Ok(Removed::default()) };
    let kind = &GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "RoleBinding");
    let others = |binding: Object| is_other(&binding, call, proofs).then_some(binding.key);
    let mut others = list_all(client, call, kind, Some(namespace), others).await?;
    let too_many = others.split_off(others.len().min(REMOVALS_MAX));
    let choose = |binding: &Object| is_other(binding, call, proofs).then(Vec::new);
    let remove = |key: ObjectKey| async move {
        let removed = leave_subjects(client, call, (kind, &key), choose).await;
        (key.name.clone(), removed)
    };
    // Made before they are begun: one that borrows while it is made can't be sent to another thread.
    let removals: Vec<_> = others.into_iter().map(remove).collect();
    let mut removals = stream::iter(removals).buffer_unordered(REMOVALS_AT_ONCE);
    let left = too_many.into_iter().map(|key| key.name.clone()).collect();
    let mut all = Removed { left, ..Removed::default() };
    while let Some((name, removed)) = removals.next().await {
        match removed {
            // What is ours now, or gone, is counted as it is.
            Ok(None | Some(Deletion::Gone)) => {}
            Ok(Some(Deletion::Pending)) => {
                all.emptied.insert(name);
            }
            Err(error @ Error::TooManyRequests { .. }) => return Err(error),
            Err(error) if error.is_about_cluster() => return Err(error),
            Err(error) => {
                tracing::warn!(%namespace, %name, %error, "a RoleBinding of another client stays");
                all.left.insert(name);
            }
        }
    }
    Ok(all)
}

fn is_other(binding: &Object, call: &Call, proofs: &ClusterProofKey) -> bool {
    let role = &binding.body["roleRef"];
    let is_our_way_in = &*binding.key.name == NAMESPACE_BINDING
        && role["kind"] == "ClusterRole"
        && role["name"] == NAMESPACE_ROLE;
    let is_ours = binding.proved_marks(Some(proofs)).is_some_and(|marks| marks.owner == call.owner);
    !is_our_way_in && !is_ours
}
