//! `dcm cluster list`: registered clusters. Of their kubeconfigs it shows where the cluster is, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::kubeconfig::Admin;
use dcm_core::name::{ClusterId, Namespace};
use dcm_core::service::{Change, RegisteredCluster};
use serde::Serialize;

use crate::age;
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::session::{Session, told};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

/// What is shown of a cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    cluster: ClusterId,
    server: Option<String>,
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<Namespace>,
    /// All work on it is paused.
    stopped: bool,
    created: Change,
    changed: Change,
}

impl Shown {
    fn of(cluster: RegisteredCluster, stopped: &BTreeSet<ClusterId>) -> Self {
        let RegisteredCluster { registration, created, changed, .. } = cluster;
        let server = Admin::read(&registration.kubeconfig).ok().map(|admin| admin.server().to_owned());
        let (labels, namespace) = (registration.labels, registration.namespace);
        let stopped = stopped.contains(&registration.id);
        Self { cluster: registration.id, server, labels, namespace, stopped, created, changed }
    }
}

pub(crate) async fn run(global: &Global, _: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let stopped = session.here()?.registered().stopped().await?;
    let (clusters, broken) = session.clusters_and_broken().await?;
    let shown: Vec<Shown> = clusters.into_iter().map(|cluster| Shown::of(cluster, &stopped)).collect();
    output::print_either(session.format, &shown, || table(&session, &shown))?;
    told(&broken).iter().for_each(output::note);
    Ok(if broken.is_empty() { Exit::Done } else { Exit::Failed })
}

fn table(session: &Session, shown: &[Shown]) -> String {
    let labels = |one: &Shown| {
        let pairs: Vec<String> = one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if pairs.is_empty() { "-".to_owned() } else { pairs.join(",") }
    };
    let server = |one: &Shown| one.server.clone().unwrap_or_else(|| "-".to_owned());
    let work = |one: &Shown| if one.stopped { "stopped" } else { "on" }.to_owned();
    let added = |one: &Shown| age::between(one.created.at, session.now());
    if session.format != Format::Wide {
        let row = |one: &Shown| [one.cluster.to_string(), server(one), labels(one), work(one), added(one)];
        return output::columns(["CLUSTER", "SERVER", "LABELS", "WORK", "ADDED"], shown.iter().map(row));
    }
    let row = |one: &Shown| {
        let namespace = one.namespace.as_ref().map_or("-".to_owned(), ToString::to_string);
        let changed = age::between(one.changed.at, session.now());
        let by = one.changed.by.clone();
        [one.cluster.to_string(), server(one), labels(one), work(one), namespace, added(one), changed, by]
    };
    let head = ["CLUSTER", "SERVER", "LABELS", "WORK", "ADMIN NAMESPACE", "ADDED", "CHANGED", "BY"];
    output::columns(head, shown.iter().map(row))
}
