//! `dcm get`: logical clouds, or the document of one.

use dcm_core::document;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::name::LogicalCloudName;
use dcm_core::service::CloudStatus;

use super::report;
use crate::age;
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Format, Notation};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The logical cloud. Default: all of the project.
    #[arg(value_name = "LOGICAL_CLOUD")]
    cloud: Option<LogicalCloudName>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let names = match &arguments.cloud {
        Some(name) => vec![name.clone()],
        None => session.cloud_names().await?,
    };
    match session.format.for_programs() {
        None => print_table(&session, &names).await?,
        Some(notation) => print_documents(&session, &names, notation, arguments.cloud.is_some()).await?,
    }
    Ok(Exit::Done)
}

async fn print_table(session: &Session, names: &[LogicalCloudName]) -> anyhow::Result<()> {
    let clouds = session.deployment.clouds();
    let mut rows = Vec::with_capacity(names.len());
    for name in names {
        let status = clouds.status(&session.project, name).await?;
        let cloud = clouds.get(&session.project, name).await?.cloud;
        rows.push((columns(session, &status), more_columns(&status, &cloud)));
    }
    let [name, state, clusters, namespace, changed] = HEAD;
    let table = if session.format == Format::Wide {
        let [level, users, edit, by, uid] = MORE_HEAD;
        let head =
            [name, state, clusters, namespace, changed, level, users, edit, by, uid].map(str::to_owned);
        output::table(head, rows.into_iter().map(|(first, more)| first.into_iter().chain(more)))
    } else {
        output::columns(HEAD, rows.into_iter().map(|(first, _)| first))
    };
    output::print(&table)
}

const HEAD: [&str; 5] = ["NAME", "STATE", "CLUSTERS DONE", "NAMESPACE", "CHANGED"];

fn columns(session: &Session, status: &CloudStatus) -> [String; 5] {
    let (done, all) = report::counted(status);
    [
        status.name.to_string(),
        status.state.to_string(),
        format!("{done}/{all}"),
        status.namespace.as_ref().map_or("-".to_owned(), ToString::to_string),
        age::between(status.changed.at, session.now()),
    ]
}

const MORE_HEAD: [&str; 5] = ["LEVEL", "USERS", "EDIT", "BY", "UID"];

fn more_columns(status: &CloudStatus, cloud: &LogicalCloud) -> [String; 5] {
    let edited = if status.is_edited { " (not applied)" } else { "" };
    [
        cloud.level().to_string(),
        cloud.users().len().to_string(),
        format!("{}{edited}", status.edit),
        status.changed.by.clone(),
        status.uid.to_string(),
    ]
}

/// One named cloud is one document; all of a project are a list in JSON and several documents in YAML, as `apply`
/// reads them.
async fn print_documents(
    session: &Session,
    names: &[LogicalCloudName],
    notation: Notation,
    only_one: bool,
) -> anyhow::Result<()> {
    let mut texts = Vec::with_capacity(names.len());
    for name in names {
        let cloud = session.deployment.clouds().get(&session.project, name).await?.cloud;
        let text = match notation {
            Notation::Json => document::to_json(&cloud)?,
            Notation::Yaml => document::to_yaml(&cloud)?,
        };
        texts.push(text.trim_end().to_owned());
    }
    let text = match (notation, only_one) {
        (Notation::Json, false) => format!("[{}]", texts.join(",\n")),
        (Notation::Json, true) | (Notation::Yaml, _) => texts.join("\n---\n"),
    };
    output::print(&format!("{text}\n"))
}
