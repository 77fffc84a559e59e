//! `dcm apply`: logical clouds from their documents to their clusters.

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_client::AppliedOutcome;
use dcm_core::document::Document;
use dcm_core::name::LogicalCloudName;
use dcm_core::plan::PlanHash;
use dcm_server::Agreed;

use super::documents::{self, Sourced};
use super::{plan, renew, report};
use crate::arguments::{Global, Waiting};
use crate::exit::Exit;
use crate::output;
use crate::session::Session;
use crate::work::Worked;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// File of documents, in YAML or JSON; - is standard input. May be repeated.
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Applies only the plan with this hash, as `dcm plan` printed it.
    ///
    /// When the desired state or an owned field on a cluster has changed since, no cluster is written to, and the exit code is 8.
    /// A cluster that changes later, before its first write, halts alone (`plan-stale` in `dcm status`). Due credentials are not
    /// renewed.
    #[arg(long, value_name = "HASH")]
    plan_hash: Option<PlanHash>,
    #[command(flatten)]
    waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    // What is refused is refused before a store is made.
    let documents = documents::read(&arguments.files, &global.project)?;
    let session = Session::open(global).await?;
    let plans = match arguments.plan_hash {
        Some(hash) => Some(plan::require(&session, &documents, hash).await?),
        None => None,
    };
    let worked = hand_over_as(&session, documents, plans).await?;
    // A renewal is no part of a plan.
    if arguments.plan_hash.is_none() {
        renew_due(&session, &worked).await;
    }
    report::wait(&session, &worked, &arguments.waiting).await
}

/// Stores all documents, and applies them. All are checked before the first is stored.
pub(crate) async fn hand_over(session: &Session, documents: Vec<Sourced>) -> anyhow::Result<Vec<Worked>> {
    hand_over_as(session, documents, None).await
}

/// The same, as it was planned where there are plans.
async fn hand_over_as(
    session: &Session,
    documents: Vec<Sourced>,
    plans: Option<Vec<Agreed>>,
) -> anyhow::Result<Vec<Worked>> {
    for sourced in &documents {
        let Document { project, draft, .. } = &sourced.document;
        session.clouds().check(project, draft).await.with_context(|| sourced.title())?;
    }
    let mut worked = Vec::with_capacity(documents.len());
    let mut plans = plans.map(Vec::into_iter);
    for sourced in &documents {
        // There is one for each document, or none at all.
        let agreed = plans.as_mut().and_then(Iterator::next).unwrap_or(Agreed::Anything);
        match declare(session, &sourced.document, agreed).await {
            Ok(one) => worked.push(one),
            Err(error) => {
                note_accepted(session, &worked).await;
                return Err(error.context(sourced.title()));
            }
        }
    }
    Ok(worked)
}

/// Stores a document, and applies it.
async fn declare(session: &Session, document: &Document, agreed: Agreed) -> anyhow::Result<Worked> {
    let Document { project, draft, .. } = document;
    let cloud = LogicalCloudName::new(&draft.metadata.name)?;
    session.ensure_project(project).await?;
    let (context, outcome) = session.clouds().declare(project, &cloud, draft, agreed).await?;
    if outcome == AppliedOutcome::Unchanged {
        output::note(format_args!("{cloud}: unchanged"));
    }
    Ok(Worked { project: project.clone(), cloud, context })
}

/// Renews what is due, as nobody else may do it where no worker runs. The apply is accepted, whatever comes of it.
async fn renew_due(session: &Session, worked: &[Worked]) {
    for Worked { project, cloud, .. } in worked {
        match session.clouds().renew_due(project, cloud).await {
            Ok(renewed) => renew::note(&renewed),
            Err(error) => {
                let error = anyhow::Error::new(error);
                output::note(format_args!(
                    "{cloud}: credentials that are due could not be renewed: {error:#}"
                ));
            }
        }
    }
}

/// Says what becomes of the clouds that were accepted before another one failed.
async fn note_accepted(session: &Session, accepted: &[Worked]) {
    // That failure is what has to be told, whatever else fails meanwhile.
    let Ok(next) = report::next_worker(session).await else { return };
    for Worked { project, cloud, .. } in accepted {
        output::note(format_args!("{cloud} (project {project}): accepted, and not waited for: {next}"));
    }
}
