//! Notes about bindings of other clients that still give rights after a logical cloud is terminated.

use std::sync::Arc;

use dcm_core::name::ClusterId;
use dcm_core::service::{CloudStatus, ClusterInCloud, OtherBindingsReport, OthersOnCluster};

use crate::output;

/// Most bindings of one cluster that are named; the others are counted.
const NAMED_MAX: usize = 10;

/// Names, beside the result, the bindings that still give rights, those that were removed, and where more may be.
pub(super) fn note(report: &OtherBindingsReport) {
    report.clusters.iter().flat_map(lines).for_each(output::note);
}

/// True when a binding still gives rights, or may do so: one that was found, or one that the engine left in a namespace that it kept.
pub(super) fn is_open(report: &OtherBindingsReport, status: &CloudStatus) -> bool {
    let is_kept = |(id, cluster): (&ClusterId, &ClusterInCloud)| {
        let removed = report.clusters.get(id).map_or(&[][..], |on| &on.bindings_removed);
        let kept = cluster.lane.iter().flat_map(|lane| &lane.objects);
        let mut left = kept.flat_map(|kept| kept.bindings.iter().map(|name| (&kept.key.name, name)));
        let is_removed = |namespace: &Arc<str>, name: &Arc<str>| {
            removed.iter().any(|key| key.namespace.as_ref() == Some(namespace) && key.name == *name)
        };
        left.any(|(namespace, name)| !is_removed(namespace, name))
    };
    report.clusters.values().any(OthersOnCluster::may_give_rights) || status.clusters.iter().any(is_kept)
}

fn lines((id, on): (&ClusterId, &OthersOnCluster)) -> Vec<String> {
    let removed = on.bindings_removed.iter().map(|key| format!("{id}: removed the rights of {key}"));
    let named = on.bindings.iter().take(NAMED_MAX);
    let open = named
        .map(|key| format!("{id}: {key} of another client still gives rights to an identity of the cloud"));
    let more = on.bindings.len().checked_sub(NAMED_MAX).filter(|more| *more > 0);
    let more = more.map(|more| format!("{id}: so do {more} more bindings"));
    let refused = on.bindings_refused.iter().map(|reason| format!("{id}: not removed: {reason}"));
    let unseen = on.bindings_unseen.iter().map(|place| format!("{id}: not allowed to list {place}"));
    let unknown = on.bindings_unknown.iter();
    let unknown = unknown.map(|reason| format!("{id}: bindings of other clients are unknown: {reason}"));
    removed.chain(open).chain(more).chain(refused).chain(unseen).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::manifest::{GroupVersionKind, ObjectKey};

    #[test]
    fn no_more_bindings_of_a_cluster_are_named_than_the_limit() {
        let kind = GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "RoleBinding");
        let key = |n: usize| ObjectKey::of_kind(&kind, Some("shop"), &format!("b{n:02}"));
        let on = OthersOnCluster { bindings: (0..NAMED_MAX + 3).map(key).collect(), ..Default::default() };
        let lines = lines((&"edge/one".parse().unwrap(), &on));
        let first = "edge/one: RoleBinding.rbac.authorization.k8s.io shop/b00 of another client still gives rights to an identity of the cloud";
        assert_eq!((lines.len(), &*lines[0]), (NAMED_MAX + 1, first));
        assert_eq!(lines[NAMED_MAX], "edge/one: so do 3 more bindings");
    }
}
