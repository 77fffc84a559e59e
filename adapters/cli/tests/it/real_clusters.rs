//! The main job with the command, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::confined::Confined;
use common::installation::{timeout, until};
use common::{OWNED_KINDS, User, said};
use dcm_testenv::{Cluster, Environment, Route, Standalone};

const CLUSTERS: usize = 3;

/// A user of the command with all clusters registered as `real/cluster-1` and so on.
struct Registered {
    user: User,
    environment: Environment,
}

impl Registered {
    async fn new(name: &str) -> Self {
        Self::of(User::new(), name).await
    }

    async fn of(user: User, name: &str) -> Self {
        let environment = Environment::group("real_clusters", CLUSTERS).await.unwrap();
        let registered = Self { user, environment };
        for cluster in registered.environment.clusters() {
            let kubeconfig = Confined::Standard.kubeconfig(cluster, &format!("dcm-{name}"), Route::Direct);
            let out = registered.add(cluster, &kubeconfig).done();
            assert!(out.contains(": ready\n") && out.contains("rights  complete"), "{out}");
        }
        registered
    }

    fn add(&self, cluster: &Cluster, kubeconfig: &str) -> common::Ran {
        let file = self.user.write(&format!("{}.yaml", cluster.name()), kubeconfig);
        let name = format!("real/{}", cluster.name());
        let ran =
            self.user.run(["cluster", "add", &name, "--label", "site=test", "--kubeconfig", text(&file)]);
        std::fs::remove_file(file).unwrap();
        ran
    }

    /// The objects of a logical cloud, on all clusters.
    fn owned(&self, cloud: &str) -> BTreeSet<String> {
        let label = format!("dcm.internal/owner,dcm.internal/logical-cloud={cloud}");
        let mut owned = BTreeSet::new();
        for cluster in self.environment.clusters() {
            let arguments = ["get", OWNED_KINDS, "-A", "-l", &label, "-o", "name"];
            let found = said(cluster.kubectl().args(arguments));
            owned.extend(found.lines().map(|line| format!("{} {line}", cluster.name())));
        }
        owned
    }

    fn document(&self, name: &str) -> String {
        let clusters: String = self
            .environment
            .clusters()
            .iter()
            .map(|cluster| format!("  - {{provider: real, cluster: {}}}\n", cluster.name()))
            .collect();
        format!(
            "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: {name}}}\nspec:\n  users:\n  - name: ann\n  \
             - {{name: ci, type: token}}\n  permissions:\n  - {{name: look, apiGroups: ['', apps], resources: ['*'], \
             verbs: [get, list, watch]}}\n  - {{name: run, users: [ci], apiGroups: [''], resources: [configmaps], \
             verbs: [create, delete]}}\n  quotas:\n  - name: compute\n    hard: {{limits.cpu: 2, pods: 10}}\n  clusters:\n{clusters}"
        )
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

/// kubectl with a user's kubeconfig and one of its contexts.
fn kubectl(environment: &Environment, kubeconfig: &Path, context: &str) -> Command {
    let mut command = Command::new(environment.kubectl());
    command.env_clear().env("HOME", kubeconfig.parent().unwrap());
    command.args(["--kubeconfig", text(kubeconfig), "--context", context]);
    command
}

#[track_caller]
fn forbidden(command: &mut Command) {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(" is forbidden: "), "{said}");
}

fn kubeconfig(registered: &Registered, cloud: &str, user: &str) -> PathBuf {
    let file = registered.user.home().join(format!("{user}.kubeconfig"));
    registered.user.run(["kubeconfig", cloud, "--user", user, "--file", text(&file)]).done();
    file
}

/// Keys and tokens in a kubeconfig.
fn secrets(kubeconfig: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let values = text.lines().filter_map(|line| line.trim().split_once(": "));
    let secrets = values.filter(|(member, _)| matches!(*member, "client-key-data" | "token"));
    let secrets: Vec<String> = secrets.map(|(_, value)| value.trim_matches('"').to_owned()).collect();
    assert_eq!(secrets.len(), CLUSTERS, "{}", kubeconfig.display());
    secrets
}

/// One document becomes working credentials on three clusters, and then nothing.
fn does_the_main_job(registered: &Registered, name: &str) {
    let user = &registered.user;
    let document = user.write("document.yaml", &registered.document(name));

    let plan = user.run(["plan", "-f", text(&document)]).done();
    assert_eq!(plan.matches("create  ").count(), CLUSTERS * 8, "{plan}");
    assert_eq!(plan.matches("request  ").count(), CLUSTERS * 2, "{plan}");
    assert_eq!(registered.owned(name), BTreeSet::new());

    let ran = user.run(["apply", "-vvv", "-f", text(&document)]);
    let (log, applied) = (ran.err.clone(), ran.done());
    assert!(applied.contains(&format!("default  {name:<13}  instantiated  3/3")), "{applied}");
    assert_eq!(registered.owned(name).len(), CLUSTERS * 8);
    let again = user.run(["apply", "-f", text(&document)]);
    assert!(again.err.contains(&format!("{name}: unchanged")), "{again:?}");
    let plan = user.run(["plan", "-f", text(&document)]).done();
    assert_eq!(plan.matches("everything is as desired").count(), CLUSTERS, "{plan}");

    let status = user.run(["status", name]).done();
    let head = format!("{name} (project default)  instantiated, namespace {name}");
    assert!(status.starts_with(&head), "{status}");
    assert_eq!(status.matches(&format!("Namespace {name}  applied")).count(), CLUSTERS, "{status}");
    let json: serde_json::Value =
        serde_json::from_str(&user.run(["status", name, "-o", "json"]).done()).unwrap();
    assert_eq!(json["clusters"]["real/cluster-2"]["lane"]["state"], "done");

    let (ann, ci) = (kubeconfig(registered, name, "ann"), kubeconfig(registered, name, "ci"));
    for secret in secrets(&ann).into_iter().chain(secrets(&ci)) {
        assert!(!log.contains(&secret));
    }
    for cluster in registered.environment.clusters() {
        let (as_ann, as_ci) = (format!("ann@{}", cluster.name()), format!("ci@{}", cluster.name()));
        let ann = |arguments: &[&str]| {
            let mut command = kubectl(&registered.environment, &ann, &as_ann);
            command.args(arguments);
            command
        };
        let ci = |arguments: &[&str]| {
            let mut command = kubectl(&registered.environment, &ci, &as_ci);
            command.args(arguments);
            command
        };
        assert!(said(&mut ann(&["get", "resourcequotas", "-o", "name"])).contains("resourcequota/compute"));
        forbidden(&mut ann(&["create", "configmap", "c"]));
        forbidden(&mut ann(&["get", "pods", "--namespace", "default"]));
        said(&mut ci(&["create", "configmap", "c"]));
        forbidden(&mut ci(&["create", "configmap", "c", "--namespace", "default"]));
        said(&mut ci(&["delete", "configmap", "c"]));
    }

    merges_into_a_persons_own_file(registered, name);

    user.run(["delete", name]).ended_with(5);
    let terminated = user.run(["terminate", name]).done();
    assert!(terminated.contains("terminated"), "{terminated}");
    assert_eq!(registered.owned(name), BTreeSet::new());
    user.run(["delete", name]).done();
    user.run(["status", name]).ended_with(6);
    user.run(["cluster", "remove", "real/cluster-1"]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_with_a_file() {
    does_the_main_job(&Registered::new("shop").await, "shop");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_with_etcd() {
    let etcd = Standalone::etcd().await.unwrap();
    let user = User::with([("DCM_STORE", format!("etcd://{}?timeout=60", etcd.address()))]);
    does_the_main_job(&Registered::of(user, "shop-etcd").await, "shop-etcd");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_with_mongodb() {
    let mongodb = Standalone::mongodb().await.unwrap();
    let user = User::with([("DCM_STORE", format!("mongodb://{}?timeout=60", mongodb.address()))]);
    does_the_main_job(&Registered::of(user, "shop-mongodb").await, "shop-mongodb");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_with_documents_in_mongodb_and_app_contexts_in_etcd() {
    let (mongodb, etcd) = (Standalone::mongodb().await.unwrap(), Standalone::etcd().await.unwrap());
    let user = User::with([
        ("DCM_STORE", format!("mongodb://{}?timeout=60", mongodb.address())),
        ("DCM_CONTEXTS_STORE", format!("etcd://{}?timeout=60", etcd.address())),
    ]);
    does_the_main_job(&Registered::of(user, "shop-both").await, "shop-both");
}

/// Twice, the second time with nothing to change; what was there stays.
fn merges_into_a_persons_own_file(registered: &Registered, cloud: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let user = &registered.user;
    let folder = user.home().join(".kube");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("config"),
        "{clusters: [{name: other, cluster: {server: 'https://other.invalid'}}]}",
    )
    .unwrap();
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.join("config"), mode).unwrap();
    let ran = user.run(["kubeconfig", cloud, "--user", "ann", "--merge"]);
    assert!(ran.err.contains("config can be read by others than its owner; chmod 600 "), "{ran:?}");
    ran.done();
    let merged = std::fs::read_to_string(folder.join("config")).unwrap();
    user.run(["kubeconfig", cloud, "--user", "ann", "--merge"]).done();
    assert_eq!(std::fs::read_to_string(folder.join("config")).unwrap(), merged);
    assert!(merged.contains("https://other.invalid"));
    assert_eq!(folder.join("config").metadata().unwrap().permissions().mode() & 0o777, 0o644);
    let mut asked =
        kubectl(&registered.environment, &folder.join("config"), &format!("ann@default/{cloud}/cluster-3"));
    assert_eq!(said(asked.args(["get", "resourcequotas", "-o", "name"])), "resourcequota/compute\n");
}

#[tokio::test]
async fn rights_that_are_missing_are_printed_as_a_role_that_mends_it() {
    let registered = Registered::new("missing").await;
    let user = &registered.user;
    let cluster = &registered.environment.clusters()[0];
    // A cluster has one name.
    user.run(["cluster", "remove", "real/cluster-1"]).done();
    let engine = cluster.issue("engine-of-the-check", &[]).unwrap();
    let file = user.write("engine.yaml", &cluster.kubeconfig(&engine, Route::Direct));
    let arguments = ["cluster", "add", "real/least", "--kubeconfig", text(&file)];
    let ran = user.run(arguments);
    assert!(ran.code == 5 && ran.err.contains("real/least was not registered"), "{ran:?}");
    let (_, role) = ran.out.split_once("---\n").unwrap();
    let found = user.run([&arguments[..], &["-o", "json"]].concat());
    let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!((&found["cluster"], &found["isReady"]), (&"real/least".into(), &false.into()));

    let role = user.write("role.yaml", role);
    said(cluster.kubectl().args(["apply", "-f", text(&role)]));
    let bind = [
        "create",
        "clusterrolebinding",
        "dcm-missing",
        "--clusterrole=dcm-missing",
        "--user=engine-of-the-check",
    ];
    said(cluster.kubectl().args(bind));
    // The API server's authorizer learns of it a moment later.
    let added = until("the rights that were given", async || {
        let ran = user.run(arguments);
        (ran.code == 0).then_some(ran.out)
    })
    .await;
    assert!(added.contains("rights  complete"), "{added}");

    let document = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: least}, spec: {users: [{name: ann}, {name: ci, type: token}], permissions: [{name: all, apiGroups: ['*'], resources: ['*'], verbs: ['*']}], quotas: [{name: q, hard: {limits.cpu: 1}}], clusters: [{provider: real, cluster: least}]}}";
    let applied = user.run_with_input(&["apply", "--timeout", &timeout(), "-f", "-"], document);
    assert!(applied.done().contains("1/1"));
    user.run(["terminate", "least", "--timeout", &timeout()]).done();
    let left =
        said(cluster.kubectl().args(["get", "namespaces", "least", "--ignore-not-found", "-o", "name"]));
    assert_eq!(left, "");
}
