//! A worker on the store of a command: it does the work, all of it, and nobody does it a second time.

use std::collections::{BTreeMap, BTreeSet};

use dcm_testenv::audit::Position;
use dcm_testenv::{AuditEvent, Cluster, Stage};

use crate::common::User;
use crate::common::installation::until_served;
use crate::common::requests::is_question;
use crate::races::serving::serve;
use crate::races::{environment, register};

/// What is said when nobody is there to do the work.
const NOBODY: &str = "no worker serves this store: nothing will happen until one runs (dcm serve)";

fn document(cloud: &str) -> String {
    format!(
        "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {cloud}}}, spec: {{users: [{{name: ann}}, \
         {{name: ci, type: token}}], permissions: [{{name: look, apiGroups: [''], resources: [pods], verbs: [get]}}], \
         quotas: [{{name: q, hard: {{pods: 5}}}}], clusters: [{{provider: real, cluster: cluster-1}}, \
         {{provider: real, cluster: cluster-2}}]}}}}"
    )
}

/// The engine that does the work, as the clusters know it.
const ENGINE: &str = "dcm-served";

/// Objects that the cloud has on each cluster: namespace, quota, service account, role, binding.
const OBJECTS: usize = 5;

fn ends(clusters: &[Cluster]) -> Vec<Position> {
    clusters.iter().map(|cluster| cluster.audit_log().position().unwrap()).collect()
}

/// What was asked of a cluster for a cloud since then: each request once.
fn asked_for(cluster: &Cluster, cloud: &str, since: Position) -> Vec<AuditEvent> {
    let of_cloud = format!("context=dcm-default-{cloud}-");
    let mut events = cluster.audit_log().events_since(since).unwrap();
    events.retain(|event| event.stage == Stage::ResponseComplete && event.user_agent.contains(&of_cloud));
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_worker_nothing_happens_and_that_is_said() {
    let environment = environment().await;
    let clusters = environment.clusters();
    let user = User::new();
    clusters.iter().for_each(|cluster| register(&user, cluster, "dcm-left-alone"));
    let before = ends(clusters);
    let apply = || user.run_with_input(&["apply", "--no-wait", "-f", "-"], &document("left-alone"));
    let ran = apply();
    assert!(ran.code == 0 && ran.err.lines().any(|line| line == NOBODY), "{ran:?}");
    assert!(ran.out.contains("left-alone     instantiating  0/2"), "{ran:?}");
    let status = user.run(["status", "left-alone"]).done();
    assert!(status.contains("instantiating"), "{status}");
    let ran = user.run(["terminate", "--no-wait", "left-alone"]);
    assert!(ran.code == 0 && ran.err.lines().any(|line| line == NOBODY), "{ran:?}");
    for (cluster, since) in clusters.iter().zip(before) {
        assert_eq!(asked_for(cluster, "left-alone", since), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_worker_a_command_lets_it_do_the_work_and_it_is_done_once() {
    let environment = environment().await;
    let clusters = environment.clusters();
    let user = User::new();
    clusters.iter().for_each(|cluster| register(&user, cluster, ENGINE));
    // There is work before there is a worker, and it is taken over.
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], &document("earlier")).done();
    let before = ends(clusters);
    let worker = serve(&user);
    until_served(&user, &document("earlier")).await;
    let file = user.write("served.yaml", &document("served"));
    let applied = user.run(["apply", "-f", file.to_str().unwrap()]).done();
    assert!(applied.contains("served         instantiated  2/2"), "{applied}");
    user.run_with_input(&["apply", "-f", "-"], &document("earlier")).done();
    for cloud in ["served", "earlier"] {
        is_done_once(&user, clusters, cloud, &before);
    }
    let ran = user.run(["terminate", "--no-wait", "served"]);
    assert!(ran.code == 0 && !ran.err.contains("nothing will happen"), "{ran:?}");
    user.run(["terminate", "served"]).done();
    for (cluster, since) in clusters.iter().zip(&before) {
        assert_eq!(fences(&asked_for(cluster, "served", *since)).len(), 1);
    }
    worker.stop();
}

/// Each object was made once, each certificate and token asked for once, all by one owner of the cluster, and the worker
/// says that it was the one.
fn is_done_once(user: &User, clusters: &[Cluster], cloud: &str, before: &[Position]) {
    for (cluster, since) in clusters.iter().zip(before) {
        let events = asked_for(cluster, cloud, *since);
        assert_eq!(fences(&events).len(), 1, "{events:#?}");
        // Each credential is tried with itself, once.
        let is_trial = |event: &&AuditEvent| {
            event.resource.as_deref() == Some("selfsubjectreviews") && event.user != ENGINE
        };
        assert_eq!(events.iter().filter(is_trial).count(), 2, "{events:#?}");
        let mut made: BTreeMap<String, usize> = BTreeMap::new();
        for event in events.iter().filter(|event| event.verb == "create" && !is_question(event)) {
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            let (kind, below) = (part(&event.resource), part(&event.subresource));
            *made.entry(format!("{kind}/{below} {}", part(&event.name))).or_default() += 1;
        }
        // Beside the objects the engine's own binding, one request for a certificate, and one for a token.
        assert_eq!((made.len(), made.values().sum::<usize>()), (OBJECTS + 3, OBJECTS + 3), "{made:#?}");
        let log = std::fs::read_to_string(user.home().join("log")).unwrap();
        let of_cloud =
            |line: &&str| line.contains(cluster.name()) && line.contains(&format!("dcm-default-{cloud}-"));
        let made = log.lines().filter(of_cloud).filter(|line| line.contains(" created ")).count();
        assert_eq!(made, OBJECTS, "{log}");
        assert_eq!(log.lines().filter(of_cloud).filter(|line| line.contains(" issued ")).count(), 2, "{log}");
    }
}

/// The owners of a cluster who asked, by the number that grows with each.
fn fences(events: &[AuditEvent]) -> BTreeSet<&str> {
    events.iter().map(|event| event.user_agent.split_once("fence=").unwrap().1).collect()
}
