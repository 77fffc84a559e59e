//! `dcm apply`: logical clouds from their documents to their clusters.

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_core::document::Document;
use dcm_core::logical_cloud::{LogicalCloud, LogicalCloudUid, MetadataDraft, ReferenceDraft};
use dcm_core::name::{ClusterId, ProjectName};
use dcm_core::refusal::{Checks, Path, Refusals};
use dcm_core::render::naming::Identity;
use dcm_core::service;

use super::{documents, report};
use crate::arguments::{Global, Waiting};
use crate::exit::Exit;
use crate::output;
use crate::session::Session;
use crate::work::Worked;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file of documents, YAML or JSON; - for standard input. May be repeated.
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    // What is refused is refused before a store is made.
    let documents = documents::read(&arguments.files, &global.project)?;
    let session = Session::open(global).await?;
    let worked = hand_over(&session, documents).await?;
    report::wait(&session, &worked, &arguments.waiting).await
}

/// Stores all documents, and applies them. All are checked before the first is stored.
pub(crate) async fn hand_over(session: &Session, documents: Vec<Document>) -> anyhow::Result<Vec<Worked>> {
    for document in &documents {
        check_registered(session, document).await?;
    }
    let clouds = session.deployment.clouds();
    let mut worked = Vec::with_capacity(documents.len());
    for Document { project, draft, .. } in documents {
        ensure_project(session, &project).await?;
        let name = draft.metadata.name.clone();
        let put = clouds.put(&session.caller, &project, draft).await;
        let cloud = put.with_context(|| format!("logical cloud {name}"))?.cloud;
        let context = Identity::of(&cloud).context_id();
        worked.push(Worked { project, cloud: cloud.name().clone(), context });
    }
    for Worked { project, cloud, .. } in &worked {
        let applied = clouds.apply(&session.caller, project, cloud).await;
        let applied = applied.with_context(|| format!("logical cloud {cloud}"))?;
        if applied.outcome == service::ApplyOutcome::Unchanged {
            output::note(format_args!("{cloud}: unchanged"));
        }
    }
    Ok(worked)
}

/// The service looks at the clusters when a cloud is applied; by then the document is stored.
async fn check_registered(session: &Session, document: &Document) -> anyhow::Result<()> {
    let uid = LogicalCloudUid::from_random(0);
    let (cloud, _) = LogicalCloud::new(document.project.clone(), uid, document.draft.clone())?;
    let mut checks = Checks::default();
    for reference in cloud.references() {
        match session.deployment.registered().get(&reference.cluster).await {
            Ok(_) => {}
            Err(service::Error::NotFound { .. }) => {
                let index = position(document, &reference.cluster);
                let path = Path::root().field("spec").field("clusters").item(index).field("cluster");
                checks.refuse(&path, &reference.cluster.to_string(), "is not registered (dcm cluster add)");
            }
            Err(error) => return Err(error.into()),
        }
    }
    let checked: Result<(), Refusals> = checks.finish(Some(()));
    checked.with_context(|| format!("logical cloud {}", cloud.name()))
}

/// Where the document refers to a cluster: a checked cloud has its references in another order.
fn position(document: &Document, cluster: &ClusterId) -> usize {
    let is_it = |one: &ReferenceDraft| {
        one.provider == cluster.provider.as_str() && one.cluster == cluster.cluster.as_str()
    };
    document.draft.spec.clusters.iter().position(is_it).unwrap_or_default()
}

/// Makes the project when there is none of the name; one that is there stays as it is.
async fn ensure_project(session: &Session, project: &ProjectName) -> anyhow::Result<()> {
    let projects = session.deployment.projects();
    match projects.get(project).await {
        Ok(_) => return Ok(()),
        Err(service::Error::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let draft = MetadataDraft { name: project.to_string(), ..MetadataDraft::default() };
    match projects.create(&session.caller, draft).await {
        // Somebody else was quicker.
        Ok(_) | Err(service::Error::AlreadyThere { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
