//! The command is killed in the middle of its work, on a real API server: whoever comes next finishes it.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Duration;

use common::User;
use dcm_testenv::{AuditFilter, Cluster, Environment, Route, Stage};

/// When it is killed, after its start: from before its first request to after its last.
const KILLED_AFTER: [u64; 8] = [20, 60, 100, 150, 220, 300, 450, 700];

/// Objects that the cloud has on its cluster: namespace, limit range, quota, service account, role, binding.
const OBJECTS: usize = 6;

/// A dead process's clusters are free after this.
const LEASE: [&str; 2] = ["--lease", "1s"];

struct Life<'a> {
    user: User,
    cluster: &'a Cluster,
    cloud: String,
}

impl<'a> Life<'a> {
    fn new(cluster: &'a Cluster, cloud: String) -> Self {
        let user = User::new();
        let file = user.write("config", &cluster.admin_kubeconfig(Route::Direct));
        user.run(["cluster", "add", "real/one", "--kubeconfig", file.to_str().unwrap()]).done();
        let document = format!(
            "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {cloud}}}, spec: {{users: [{{name: ann}}, \
             {{name: ci, type: token}}], permissions: [{{name: look, apiGroups: [''], resources: [pods], verbs: [get]}}], \
             quotas: [{{name: q, hard: {{limits.cpu: 1}}}}], clusters: [{{provider: real, cluster: one}}]}}}}"
        );
        user.write("cloud.yaml", &document);
        Self { user, cluster, cloud }
    }

    /// Starts the command and kills it; gives what was done by then.
    fn killed(&self, arguments: &[&str], after: Duration) -> String {
        let mut command = self.user.command();
        command.args(arguments).args(LEASE);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Nobody wakes this thread, and waking it early would only kill earlier.
        std::thread::park_timeout(after);
        child.kill().unwrap();
        child.wait().unwrap();
        self.user.run(["status", &self.cloud, "-o", "json"]).out
    }

    fn finished(&self, arguments: &[&str]) {
        self.user.run(arguments.iter().chain(&LEASE).chain(&["--timeout", "90s"])).done();
    }

    /// What is there, and whether with answered requests: those are cleared away when nobody waits for it any more.
    fn owned(&self, with_requests: bool) -> usize {
        let requests = if with_requests { ",certificatesigningrequests" } else { "" };
        let kinds =
            format!("namespaces,resourcequotas,limitranges,serviceaccounts,roles,rolebindings{requests}");
        let label = format!("dcm.internal/owner,dcm.internal/logical-cloud={}", self.cloud);
        let mut command = self.cluster.kubectl();
        let output = command.args(["get", &kinds, "-A", "-l", &label, "-o", "name"]).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().count()
    }

    /// How far the lane was, without times.
    fn point(status: &str) -> String {
        let status: serde_json::Value = serde_json::from_str(status).unwrap_or_default();
        let lane = &status["clusters"]["real/one"]["lane"];
        let count = |member: &str, state: &str| {
            lane[member].as_array().into_iter().flatten().filter(|one| one["state"] == state).count()
        };
        let objects =
            [count("objects", "applied"), count("objects", "pending"), count("objects", "removing")];
        format!("{} {} {objects:?} {}", status["state"], lane["state"], count("requests", "issued"))
    }
}

/// One life, killed twice; gives the points at which it was.
fn live(cluster: &Cluster, number: usize, after: Duration) -> [String; 2] {
    let life = Life::new(cluster, format!("killed-{number}"));
    let applied = Life::point(&life.killed(&["apply", "-f", "cloud.yaml"], after));
    life.finished(&["apply", "-f", "cloud.yaml"]);
    assert_eq!(life.owned(false), OBJECTS);
    life.user.run(["kubeconfig", &life.cloud, "--user", "ann"]).done();

    let terminated = Life::point(&life.killed(&["terminate", &life.cloud], after));
    life.finished(&["terminate", &life.cloud]);
    assert_eq!(life.owned(true), 0);
    [applied, terminated]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_left_is_finished_with_no_orphan_and_no_second_certificate() {
    let environment = Environment::shared(1).await.unwrap();
    let cluster = &environment.clusters()[0];
    let points: BTreeSet<String> = std::thread::scope(|scope| {
        let lives = KILLED_AFTER.into_iter().enumerate().map(|(number, millis)| {
            scope.spawn(move || live(cluster, number, Duration::from_millis(millis)))
        });
        let lives: Vec<_> = lives.collect();
        lives.into_iter().flat_map(|life| life.join().unwrap()).collect()
    });
    assert!(points.len() >= KILLED_AFTER.len() / 2, "too few distinct points: {points:#?}");
    let mut approved: BTreeMap<String, usize> = BTreeMap::new();
    let filter = AuditFilter::new().resource("certificatesigningrequests").subresource("approval");
    for event in cluster.audit_log().matching(&filter.stage(Stage::ResponseComplete).code(200)).unwrap() {
        *approved.entry(event.name.unwrap()).or_default() += 1;
    }
    assert_eq!(approved.len(), KILLED_AFTER.len(), "{approved:?}");
    assert!(approved.values().all(|count| *count == 1), "{approved:?}");
}
