//! `dcm apply`: logical clouds from their documents to their clusters.

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_core::document::Document;
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::ProjectName;
use dcm_core::plan::PlanHash;
use dcm_core::render::naming::Identity;
use dcm_core::service;

use super::documents::{self, Sourced};
use super::plan::{self, CloudPlan};
use super::{renew, report};
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
    /// Does what `dcm plan` showed with this hash, or fails with exit code 8 and writes to no cluster: when something else is
    /// wanted by now, or a field that is ours is not as it was on any cluster. A cluster that changes later, before it is
    /// written to, halts alone (`plan-stale` in `dcm status`). Credentials that are due are not renewed.
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
    plans: Option<Vec<CloudPlan>>,
) -> anyhow::Result<Vec<Worked>> {
    check(session, &documents).await?;
    let worked = store(session, &documents).await?;
    let planned = match plans {
        Some(plans) => plan::planned_states(session, &documents, plans).await?,
        None => Vec::new(),
    };
    let clouds = session.here()?.clouds();
    for (index, Worked { project, cloud, .. }) in worked.iter().enumerate() {
        let applied = match planned.get(index) {
            Some(planned) => clouds.apply_as_planned(&session.caller, project, cloud, planned).await,
            None => clouds.apply(&session.caller, project, cloud).await,
        };
        let applied = match applied {
            Ok(applied) => applied,
            Err(error) => {
                note_accepted(session, &worked[..index]).await;
                return Err(anyhow::Error::new(error).context(format!("logical cloud {cloud}")));
            }
        };
        if applied.outcome == service::ApplyOutcome::Unchanged {
            output::note(format_args!("{cloud}: unchanged"));
        }
    }
    Ok(worked)
}

/// Stores all documents.
async fn store(session: &Session, documents: &[Sourced]) -> anyhow::Result<Vec<Worked>> {
    let mut worked = Vec::with_capacity(documents.len());
    for sourced in documents {
        let Document { project, draft, .. } = &sourced.document;
        ensure_project(session, project).await?;
        let put = session.here()?.clouds().put(&session.caller, project, draft.clone()).await;
        let cloud = put.with_context(|| sourced.title())?.cloud;
        let context = Identity::of(&cloud).context_id();
        worked.push(Worked { project: project.clone(), cloud: cloud.name().clone(), context });
    }
    Ok(worked)
}

/// Renews what is due, as nobody else may do it where no worker runs. The apply is accepted, whatever comes of it.
async fn renew_due(session: &Session, worked: &[Worked]) {
    for Worked { project, cloud, .. } in worked {
        match session.clouds().renew(project, cloud, None).await {
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

/// Checks documents against what is registered and stored. Asks no cluster.
async fn check(session: &Session, documents: &[Sourced]) -> anyhow::Result<()> {
    for sourced in documents {
        let Document { project, draft, .. } = &sourced.document;
        let checked = session.here()?.clouds().foresee(&session.caller, project, draft.clone()).await;
        checked.with_context(|| sourced.title())?;
    }
    Ok(())
}

/// Makes the project when there is none of the name; one that is there stays as it is.
async fn ensure_project(session: &Session, project: &ProjectName) -> anyhow::Result<()> {
    let projects = session.here()?.projects();
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
