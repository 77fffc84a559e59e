//! What stores, clusters and audit logs say of the work of several workers.

use std::collections::{BTreeMap, BTreeSet};

use dcm_testenv::{AuditEvent, Stage};
use serde_json::Value;

use crate::common::installation::Installation;
use crate::common::inventory::everything;
use crate::common::requests::Moment;
use crate::workers::cloud;

/// All objects that are ours have it.
const OWNED: &str = "dcm.internal/owner";

/// Verbs that change what is there.
const CHANGES: [&str; 3] = ["update", "patch", "delete"];

/// How many clusters each worker has, in ascending order; none of those that are nobody's, if any are.
pub(crate) fn owners(installation: &Installation<'_>) -> Vec<usize> {
    let export = installation.person.run(["store", "export"]).done();
    let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines.filter(|line| line["path"].as_str().is_some_and(|path| path.starts_with("shards/"))) {
        let Some(owner) = line["document"]["owner"].as_str() else { return Vec::new() };
        *owners.entry(owner.to_owned()).or_default() += 1;
    }
    let mut counts: Vec<usize> = owners.into_values().collect();
    counts.sort_unstable();
    counts
}

/// The resources with names that each cloud has in its namespace, on each cluster.
async fn owned(installation: &Installation<'_>, prefix: &str) -> Vec<BTreeMap<String, BTreeSet<String>>> {
    let mut all = Vec::new();
    for cluster in installation.clusters() {
        let mut of_cluster: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for place in everything(cluster, Some(OWNED)).await.into_keys() {
            // Group and version, resource, and namespace with name.
            let words: Vec<&str> = place.split(' ').collect();
            let [_, resource, name] = words[..] else { panic!("{place}") };
            let (namespace, name) = name.split_once('/').unwrap();
            let is_namespace = resource == "namespaces";
            let (namespace, name) = if is_namespace { (name, "") } else { (namespace, name) };
            // The end of an account's name is random.
            let is_account = resource == "serviceaccounts";
            let name = if is_account { name.rsplit_once('-').unwrap().0 } else { name };
            if namespace.starts_with(prefix) {
                of_cluster.entry(namespace.to_owned()).or_default().insert(format!("{resource} {name}"));
            } else {
                assert!(!name.contains(prefix), "{place} is left over");
            }
        }
        all.push(of_cluster);
    }
    all
}

/// Fails unless each cloud has the same on each cluster, and nothing else.
pub(crate) async fn assert_all_have_the_same(installation: &Installation<'_>, prefix: &str, count: usize) {
    let clouds: BTreeSet<String> = (1..=count).map(|number| cloud(number, prefix)).collect();
    let all = owned(installation, prefix).await;
    let expected = all[0].values().next().unwrap();
    for resource in ["namespaces ", "resourcequotas ", "serviceaccounts ", "roles ", "rolebindings "] {
        assert!(expected.iter().any(|one| one.starts_with(resource)), "no {resource}: {expected:?}");
    }
    for of_cluster in &all {
        assert_eq!(of_cluster.keys().cloned().collect::<BTreeSet<_>>(), clouds);
        for (cloud, owned) in of_cluster {
            assert_eq!(owned, expected, "{cloud}");
        }
    }
}

/// True when no cluster has a request for a certificate of theirs any more, which goes after what was wanted is there.
pub(crate) async fn is_tidy(installation: &Installation<'_>, prefix: &str) -> bool {
    for cluster in installation.clusters() {
        let mut places = everything(cluster, Some(OWNED)).await.into_keys();
        let of_ours =
            |place: &String| place.contains(" certificatesigningrequests ") && place.contains(prefix);
        if places.any(|place| of_ours(&place)) {
            return false;
        }
    }
    true
}

/// True when nothing of the clouds is on any cluster.
pub(crate) async fn is_nothing_left(installation: &Installation<'_>, prefix: &str) -> bool {
    owned(installation, prefix).await.iter().all(BTreeMap::is_empty)
}

/// Fails when a change of an object with a lower fence took effect after one with a higher fence, by the audit logs.
#[track_caller]
pub(crate) fn assert_fences_grow(installation: &Installation<'_>, since: &Moment) {
    for events in installation.events(since) {
        let mut newest: BTreeMap<[Option<String>; 4], u64> = BTreeMap::new();
        for event in events.iter().filter(|event| changed(event)) {
            let Some(fence) = fence(event) else { continue };
            let AuditEvent { api_group, resource, namespace, name, .. } = event;
            let object = [api_group, resource, namespace, name].map(Clone::clone);
            let before = newest.entry(object).or_insert(fence);
            assert!(*before <= fence, "fence {fence} came after fence {before}: {event:#?}");
            *before = fence;
        }
        let most = newest.values().max().copied().unwrap_or_default();
        assert!(most > 1, "no cluster changed hands");
    }
}

/// True when a request changed an object that was there.
fn changed(event: &AuditEvent) -> bool {
    event.stage == Stage::ResponseComplete
        && CHANGES.contains(&&*event.verb)
        && event.code.is_some_and(|code| (200..300).contains(&code))
        && !event.dry_run
}

/// The fence that a request was sent with.
fn fence(event: &AuditEvent) -> Option<u64> {
    event.user_agent.split(' ').find_map(|word| word.strip_prefix("fence=")?.parse().ok())
}
