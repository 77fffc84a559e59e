//! `dcm get`: logical clouds, or the document of one.

use dcm_core::document;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::service::CloudStatus;

use super::report;
use crate::age;
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Format, Notation};
use crate::place::Error;
use crate::session::{Session, of_many};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the logical cloud. Default: all of the project.
    #[arg(value_name = "LOGICAL_CLOUD")]
    cloud: Option<LogicalCloudName>,
    /// Shows the logical clouds of all projects.
    #[arg(short = 'A', long, conflicts_with = "cloud")]
    all_projects: bool,
}

/// A logical cloud, and whose it is.
type Name = (ProjectName, LogicalCloudName);

/// What is read of logical clouds. At a server, each costs a request for each cloud.
#[derive(Clone, Copy)]
enum Reading {
    Statuses,
    /// The documents, too.
    Documents,
}

/// What there is to show of a logical cloud.
struct Found {
    status: CloudStatus,
    /// Where documents are read.
    cloud: Option<LogicalCloud>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let reading = match session.format {
        Format::Table => Reading::Statuses,
        Format::Wide | Format::Json | Format::Yaml => Reading::Documents,
    };
    let (found, failed) = match &arguments.cloud {
        Some(name) => (vec![read(&session, &session.project, name, reading).await?], Vec::new()),
        None => of_all(&session, &names(&session, arguments).await?, reading).await?,
    };
    match session.format.for_programs() {
        None => print_table(&session, &found, arguments.all_projects)?,
        Some(notation) => print_documents(&found, notation, arguments.cloud.is_some())?,
    }
    failed.iter().for_each(output::note);
    Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
}

/// The names of all clouds that are asked for.
async fn names(session: &Session, arguments: &Arguments) -> anyhow::Result<Vec<Name>> {
    let projects =
        if arguments.all_projects { session.project_names().await? } else { vec![session.project.clone()] };
    let mut names = Vec::new();
    for project in projects {
        let clouds = session.clouds().names(&project).await?;
        names.extend(clouds.into_iter().map(|name| (project.clone(), name)));
    }
    Ok(names)
}

async fn read(
    session: &Session,
    project: &ProjectName,
    name: &LogicalCloudName,
    reading: Reading,
) -> Result<Found, Error> {
    let clouds = session.clouds();
    let status = clouds.status(project, name).await?;
    let cloud = match reading {
        Reading::Statuses => None,
        Reading::Documents => Some(clouds.get(&status).await?),
    };
    Ok(Found { status, cloud })
}

/// The clouds that were listed, but for those that are gone, and why some can't be read.
async fn of_all(
    session: &Session,
    names: &[Name],
    reading: Reading,
) -> Result<(Vec<Found>, Vec<String>), Error> {
    let mut reads = Vec::with_capacity(names.len());
    for (project, name) in names {
        reads.push((format!("{project}/{name}"), read(session, project, name, reading)));
    }
    of_many(reads).await
}

fn print_table(session: &Session, found: &[Found], with_project: bool) -> anyhow::Result<()> {
    let is_wide = session.format == Format::Wide;
    let rows = found.iter().map(|Found { status, cloud }| {
        let own =
            with_project.then(|| status.project.to_string()).into_iter().chain(columns(session, status));
        own.chain(cloud.iter().flat_map(|cloud| more_columns(status, cloud)))
    });
    let more = if is_wide { &MORE_HEAD[..] } else { &[] };
    let head = with_project.then_some("PROJECT").into_iter().chain(HEAD).chain(more.iter().copied());
    output::print(&output::table(head.map(str::to_owned), rows))
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
fn print_documents(found: &[Found], notation: Notation, only_one: bool) -> anyhow::Result<()> {
    let mut texts = Vec::with_capacity(found.len());
    for cloud in found.iter().filter_map(|found| found.cloud.as_ref()) {
        let text = match notation {
            Notation::Json => document::to_json(cloud)?,
            Notation::Yaml => document::to_yaml(cloud)?,
        };
        texts.push(text.trim_end().to_owned());
    }
    let text = match (notation, only_one) {
        (Notation::Json, false) => format!("[{}]", texts.join(",\n")),
        (Notation::Json, true) | (Notation::Yaml, _) => texts.join("\n---\n"),
    };
    output::print(&format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use dcm_core::service::Kind;

    use super::*;
    use crate::session::in_memory;

    #[tokio::test]
    async fn a_cloud_that_is_gone_is_missed_only_where_it_was_named() {
        let session = in_memory().await;
        let name = (session.project.clone(), LogicalCloudName::new("gone").unwrap());
        let names = std::slice::from_ref(&name);
        assert!(of_all(&session, names, Reading::Documents).await.unwrap().0.is_empty());
        let missed = read(&session, &name.0, &name.1, Reading::Statuses).await;
        assert!(missed.err().unwrap().is_of_no(Kind::LogicalCloud));
    }
}
