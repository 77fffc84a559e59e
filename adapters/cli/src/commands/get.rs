//! `dcm get`: logical clouds, or the document of one.

use dcm_core::document;
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
        let described = clouds.get(&session.project, name).await?;
        rows.push((status, described.cloud.level(), described.cloud.users().len()));
    }
    let namespace = |status: &CloudStatus| status.namespace.as_ref().map_or("-".into(), ToString::to_string);
    let clusters = |status: &CloudStatus| {
        let (done, all) = report::counted(status);
        format!("{done}/{all}")
    };
    let changed = |status: &CloudStatus| age::between(status.changed.at, session.now());
    let table = if session.format == Format::Wide {
        let head =
            ["NAME", "STATE", "CLUSTERS DONE", "NAMESPACE", "LEVEL", "USERS", "EDIT", "CHANGED", "BY", "UID"];
        let row = |(status, level, users): &(CloudStatus, _, usize)| {
            let edited = if status.is_edited { " (not applied)" } else { "" };
            [
                status.name.to_string(),
                status.state.to_string(),
                clusters(status),
                namespace(status),
                format!("{level}"),
                users.to_string(),
                format!("{}{edited}", status.edit),
                changed(status),
                status.changed.by.clone(),
                status.uid.to_string(),
            ]
        };
        output::columns(head, rows.iter().map(row))
    } else {
        let head = ["NAME", "STATE", "CLUSTERS DONE", "NAMESPACE", "CHANGED"];
        let row = |(status, ..): &(CloudStatus, _, usize)| {
            let name = status.name.to_string();
            [name, status.state.to_string(), clusters(status), namespace(status), changed(status)]
        };
        output::columns(head, rows.iter().map(row))
    };
    output::print(&table)
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
