//! How long it takes until a cluster is as it should be again: after somebody deleted or changed an object of ours, and
//! after a user's credentials were revoked.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dcm_benches::cloud::CERTIFICATE_USER;
use dcm_benches::statistics::median;
use dcm_core::app_context::{Action, AppContext};
use dcm_core::manifest::Manifest;
use dcm_testenv::Route;
use dcm_testenv::effort::patience;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::servers::Servers;
use super::wall::{Contest, rest};

/// How often each is measured, with a new cloud each time: nobody is fought with.
const ROUNDS: usize = 9;

/// How often a cluster is asked whether it is so.
const POLL: Duration = Duration::from_millis(2);

/// Longer than it may ever take. At the smallest size, no time is bounded but by patience.
const LIMIT: Duration = Duration::from_secs(10);

/// Medians, in milliseconds.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// From the deletion of a Role to the Role that takes its place.
    pub(crate) deleted: f64,
    /// From a change of a ResourceQuota to its correction.
    pub(crate) changed: f64,
    /// From the call of a revocation to the first refusal of the old certificate.
    pub(crate) revoked: f64,
}

/// Measures on the first cluster.
pub(crate) async fn run(servers: &Servers, contest: &Contest<'_>) -> Result<Recovery> {
    let admin = Kubeconfig::from_yaml(&servers.clusters()[0].admin_kubeconfig(Route::Direct))?;
    let admin = client(admin).await?;
    let (rounds, limit) = contest.size.of((ROUNDS, LIMIT), (1, patience()));
    let contexts = contest.contexts("recovered", rounds)?;
    contest.memory.instantiate(&contexts).await?;
    rest(contest.size, rounds).await;
    let (mut deleted, mut changed, mut revoked) = (Vec::new(), Vec::new(), Vec::new());
    for (round, context) in contexts.iter().enumerate() {
        eprintln!("recovery, round {} of {rounds}", round + 1);
        deleted.push(after_deletion(&admin, context, limit).await?);
        changed.push(after_change(&admin, context, limit).await?);
        revoked.push(after_revocation(contest, &format!("revoked-{round}"), limit).await?);
    }
    let median = |times: Vec<Duration>| median(times.iter().map(|time| time.as_secs_f64() * 1e3));
    Ok(Recovery { deleted: median(deleted), changed: median(changed), revoked: median(revoked) })
}

async fn client(kubeconfig: Kubeconfig) -> Result<Client> {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// The first object of a kind in a context.
fn object<'a>(context: &'a AppContext, kind: &str) -> Result<&'a Manifest> {
    let steps = context.placements.values().flat_map(|bundle| bundle.steps());
    let mut manifests = steps.filter_map(|step| match &step.action {
        Action::Apply { manifest, .. } => Some(manifest),
        Action::Edit { .. } | Action::Request { .. } => None,
    });
    manifests.find(|manifest| &*manifest.key().kind == kind).with_context(|| format!("a {kind}"))
}

async fn after_deletion(admin: &Client, context: &AppContext, limit: Duration) -> Result<Duration> {
    let key = object(context, "Role")?.key();
    let api: Api<Role> = Api::namespaced(admin.clone(), key.namespace.as_deref().unwrap_or_default());
    api.delete(&key.name, &DeleteParams::default()).await?;
    until(limit, async || Ok(api.get_opt(&key.name).await?.is_some())).await
}

async fn after_change(admin: &Client, context: &AppContext, limit: Duration) -> Result<Duration> {
    let key = object(context, "ResourceQuota")?.key();
    let api: Api<ResourceQuota> =
        Api::namespaced(admin.clone(), key.namespace.as_deref().unwrap_or_default());
    let pods = async || -> Result<Option<String>> {
        let hard = api.get(&key.name).await?.spec.and_then(|spec| spec.hard).unwrap_or_default();
        Ok(hard.get("pods").map(|quantity| quantity.0.clone()))
    };
    let before = pods().await?;
    let change = Patch::Merge(json!({"spec": {"hard": {"pods": "7"}}}));
    api.patch(&key.name, &PatchParams::default(), &change).await?;
    until(limit, async || Ok(pods().await? == before)).await
}

async fn after_revocation(contest: &Contest<'_>, cloud: &str, limit: Duration) -> Result<Duration> {
    contest.document.instantiate(cloud).await?;
    let given = contest.document.kubeconfig(cloud, CERTIFICATE_USER).await?;
    let user = client(Kubeconfig::from_yaml(given.expose())?).await?;
    let pods: Api<Pod> = Api::namespaced(user, cloud);
    pods.list(&ListParams::default()).await.context("the credential works before")?;
    let start = Instant::now();
    contest.document.revoke(cloud, CERTIFICATE_USER).await?;
    let refused = async || match pods.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) => Ok(status.code == 403),
        other => other.map(|_| false).map_err(Into::into),
    };
    until(limit, refused).await?;
    Ok(start.elapsed())
}

/// How long it takes until something is so.
async fn until(limit: Duration, is_so: impl AsyncFn() -> Result<bool>) -> Result<Duration> {
    let start = Instant::now();
    while !is_so().await? {
        ensure!(start.elapsed() < limit, "nothing came of it within {limit:?}");
        sleep(POLL).await;
    }
    Ok(start.elapsed())
}
