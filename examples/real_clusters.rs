//! The main job on three real API servers, and the real `kubectl` with the credential that came out of it: a request
//! that is allowed and one that is refused. Once with a store in a file, and once with one in memory, as long as one process has
//! need of it. On each cluster the engine has the least rights, and a guard confines it.
//!
//! `cargo run -p dcm-examples --bin real_clusters` starts the servers and ends them. The first run on a machine builds
//! them, which takes some minutes.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use dcm_core::logical_cloud::{Draft, Level, MetadataDraft};
use dcm_core::name::{ClusterId, LogicalCloudName, OwnerId, ProjectName};
use dcm_core::port::synchronizer::Removal;
use dcm_core::preflight::{self, Guard, Guarded, Needs, PodSecurityLevel};
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Registration};
use dcm_core::status::Progress;
use dcm_server::{Configuration, Deployment};
use dcm_sync::engine::Acquire;
use dcm_testenv::{Cluster, Environment, Route};
use serde_json::json;

/// The engine's user on each cluster.
const ENGINE: &str = "dcm";

/// Most checks of a new cluster, and the pause between two: an API server applies new roles and policies some seconds later.
const CHECKS_MAX: usize = 100;
const CHECK_PAUSE: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let environment = Environment::builder().clusters(3).start().await?;
    let folder = tempfile::tempdir()?;
    let file = format!("sqlite:{}", folder.path().join("store.db").display());
    for store in [&*file, "memory:"] {
        let (scheme, _) = store.split_once(':').context("a store is a URL")?;
        println!("store: {scheme}");
        main_job(&environment, store, folder.path()).await?;
    }
    Ok(())
}

/// A logical cloud comes, is used, and goes; the store is empty at first.
async fn main_job(environment: &Environment, store: &str, folder: &Path) -> anyhow::Result<()> {
    let deployment = Deployment::open(&Configuration::new(store, folder.join("keys.json"))).await?;
    let caller = Caller::new("example");
    register(&deployment, &caller, environment, folder).await?;

    let (project, cloud) = (ProjectName::new("default")?, LogicalCloudName::new("shop")?);
    let metadata = MetadataDraft::named(&project);
    deployment.projects().create(&caller, metadata).await?;
    let clouds = deployment.clouds();
    clouds.put(&caller, &project, draft()?).await?;
    clouds.apply(&caller, &project, &cloud).await?;

    let engine = deployment.engine(Acquire::All);
    let status = clouds.wait_until_done(&project, &cloud).await?.context;
    anyhow::ensure!(status.progress == Progress::Done, "not done: {status:?}");
    println!("{cloud} is on {} clusters", status.lanes.len());

    let access = clouds.kubeconfigs(&project, &cloud, None, None).await?.access;
    let file = folder.join("kubeconfig");
    std::fs::write(&file, access.for_all_clusters().to_yaml()?.expose())?;
    for reference in access.clusters.keys() {
        let kubectl =
            |arguments: &[&str]| kubectl(environment, &file, &format!("developer@{reference}"), arguments);
        show("allowed", kubectl(&["get", "resourcequotas", "--output", "name"]), true)?;
        show("refused", kubectl(&["get", "pods", "--namespace", "default"]), false)?;
    }

    clouds.terminate(&caller, &project, &cloud, Removal::default()).await?;
    println!("{cloud}: {}", clouds.wait_until_done(&project, &cloud).await?.state);
    engine.shutdown().await;
    Ok(())
}

async fn register(
    deployment: &Deployment,
    caller: &Caller,
    environment: &Environment,
    folder: &Path,
) -> anyhow::Result<()> {
    for cluster in environment.clusters() {
        prepare(cluster, &deployment.options().owner, &folder.join("rights.json"))?;
        let id = ClusterId::new("real", cluster.name())?;
        let kubeconfig = Secret::new(cluster.kubeconfig(&cluster.issue(ENGINE, &[])?, Route::Direct));
        deployment.registered().add(caller, Registration::new(id.clone(), kubeconfig)).await?;
        wait_until_ready(deployment, &id).await?;
    }
    Ok(())
}

/// Gives the engine's user the least role under the guard, as an administrator does with `dcm cluster role --guard`.
fn prepare(cluster: &Cluster, owner: &OwnerId, file: &Path) -> anyhow::Result<()> {
    let role = preflight::cluster_role(ENGINE, preflight::rules(Needs::of_level(Level::Standard).accesses()));
    let role_binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": ENGINE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ENGINE},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ENGINE}],
    });
    let guarded = Guarded {
        user: ENGINE,
        owner,
        level: Level::Standard,
        pod_security: PodSecurityLevel::Baseline,
        has_mesh_names: false,
    };
    let (policy, policy_binding) = guarded.policy(ENGINE);
    let items = json!([role, preflight::namespace_role(), role_binding, policy, policy_binding]);
    std::fs::write(file, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())?;
    let applied = cluster.kubectl().args(["apply", "-f"]).arg(file).output()?;
    anyhow::ensure!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    Ok(())
}

/// Checks a cluster until it is ready and its guard is in force.
async fn wait_until_ready(deployment: &Deployment, id: &ClusterId) -> anyhow::Result<()> {
    let cluster = deployment.clusters().connect(id).await?;
    let needs = Needs::of_level(Level::Standard);
    for _ in 0..CHECKS_MAX {
        let found = preflight::check(&*cluster, &deployment.call(), &needs, &**deployment.clock()).await?;
        if found.is_ready() && found.guard == Guard::InForce {
            return Ok(());
        }
        tokio::time::sleep(CHECK_PAUSE).await;
    }
    anyhow::bail!("{id} is not ready, or the guard is not in force")
}

fn draft() -> anyhow::Result<Draft> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": "shop"},
        "spec": {
            "users": [{"name": "developer"}],
            "permissions": [{"name": "look", "apiGroups": [""], "resources": ["*"], "verbs": ["get", "list"]}],
            "quotas": [{"name": "compute", "hard": {"limits.cpu": 4}}],
            "clusterSelector": {},
        },
    }))?)
}

fn kubectl(environment: &Environment, kubeconfig: &Path, context: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(environment.kubectl());
    command.env_remove("KUBECONFIG").arg("--kubeconfig").arg(kubeconfig).args(["--context", context]);
    command.arg("--cache-dir").arg(kubeconfig.with_file_name("kubectl-cache")).args(arguments);
    command
}

/// Runs it and shows what it said; it must go as is expected.
fn show(expected: &str, mut command: Command, succeeds: bool) -> anyhow::Result<()> {
    let output = command.output().context("kubectl could not be run")?;
    let said = if output.status.success() { &output.stdout } else { &output.stderr };
    let said = String::from_utf8_lossy(said);
    println!("{expected}: {}", said.trim());
    anyhow::ensure!(output.status.success() == succeeds, "this was to be {expected}");
    Ok(())
}
