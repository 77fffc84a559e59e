//! `dcm cluster list`: registered clusters. Of their kubeconfigs it shows where the cluster is, and nothing else.

use crate::age;
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::place::{All, Shown};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) async fn run(global: &Global, _: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let All { clusters, broken } = session.clusters().list().await?;
    output::print_either(session.format, &clusters, || table(&session, &clusters))?;
    broken.iter().for_each(output::note);
    Ok(if broken.is_empty() { Exit::Done } else { Exit::Failed })
}

fn table(session: &Session, shown: &[Shown]) -> String {
    let labels = |one: &Shown| {
        let pairs: Vec<String> = one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if pairs.is_empty() { "-".to_owned() } else { pairs.join(",") }
    };
    let server = |one: &Shown| one.server.clone().unwrap_or_else(|| "-".to_owned());
    let work = |one: &Shown| match (one.stopped, one.moved) {
        (true, _) => "stopped".to_owned(),
        (false, true) => "not accepted".to_owned(),
        (false, false) => "on".to_owned(),
    };
    let added = |one: &Shown| age::between(one.created.at, session.now());
    if session.format != Format::Wide {
        let row = |one: &Shown| [one.cluster.to_string(), server(one), labels(one), work(one), added(one)];
        return output::columns(["CLUSTER", "SERVER", "LABELS", "WORK", "ADDED"], shown.iter().map(row));
    }
    let row = |one: &Shown| {
        let namespace = one.namespace.as_ref().map_or("-".to_owned(), ToString::to_string);
        let changed = age::between(one.changed.at, session.now());
        let by = one.changed.by.clone();
        let users = one.user_endpoint.as_ref().map_or("-", |endpoint| endpoint.server.as_str()).to_owned();
        [
            one.cluster.to_string(),
            server(one),
            users,
            labels(one),
            work(one),
            namespace,
            added(one),
            changed,
            by,
        ]
    };
    let head =
        ["CLUSTER", "SERVER", "USER SERVER", "LABELS", "WORK", "ADMIN NAMESPACE", "ADDED", "CHANGED", "BY"];
    output::columns(head, shown.iter().map(row))
}
