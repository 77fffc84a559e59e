//! A plan against the clusters as they are now, and its hash.

use std::collections::BTreeMap;

use anyhow::Context as _;
use dcm_client::LogicalClouds as Remote;
use dcm_core::document::{self, Document};
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Changes, Outline, PlanHash};
use dcm_core::service::Foreseen;
use dcm_server::Deployment;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::shown::{self, Shown};
use crate::arguments::Global;
use crate::commands::documents::Sourced;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::place::{self, Place, drafted};
use crate::session::Session;

/// How many plans a server makes at once: each asks clusters, and all it can at once.
const PLANS_AT_ONCE_MAX: usize = 4;

/// What would be done for one logical cloud.
pub(super) struct CloudPlan {
    pub(super) project: ProjectName,
    pub(super) name: LogicalCloudName,
    /// It is not stored: it has no identity yet.
    is_new: bool,
    pub(super) hash: PlanHash,
    pub(super) clusters: BTreeMap<ClusterId, Outline>,
}

/// Whether writes are rehearsed. A server decides that itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dry {
    Runs,
    Looks,
}

pub(super) async fn run(global: &Global, documents: Vec<Sourced>) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let plans = shown_of(&session, &documents).await?;
    let is_unknown = |outline: &Outline| matches!(outline, Outline::Unknown(_));
    let unknown = plans.iter().flat_map(|plan| plan.clusters.values()).any(is_unknown);
    Ok(if unknown { Exit::Failed } else { Exit::Done })
}

/// Plans with a dry run of each write, and shows that.
async fn shown_of(session: &Session, documents: &[Sourced]) -> anyhow::Result<Vec<CloudPlan>> {
    let plans = planned(session, documents, Dry::Runs).await?;
    for name in plans.iter().filter(|plan| plan.is_new).map(|plan| &plan.name) {
        output::note(format_args!("{name}: not stored yet: names that carry its UID are those of UID 0"));
    }
    let shown = Shown::of(&plans);
    match session.format.for_programs() {
        Some(notation) => output::print(&notation.write(&shown)?)?,
        None => output::print_painted(&shown::table(&shown))?,
    }
    Ok(plans)
}

/// The hash of each document's plan, if all of them together have this one. Fails as stale otherwise, with what differs; nothing is
/// written.
pub(crate) async fn require(
    session: &Session,
    documents: &[Sourced],
    hash: PlanHash,
) -> anyhow::Result<Vec<PlanHash>> {
    let plans = planned(session, documents, Dry::Looks).await?;
    let hashes: Vec<PlanHash> = plans.iter().map(|plan| plan.hash).collect();
    let now = PlanHash::joined(&hashes);
    if now == hash {
        return Ok(hashes);
    }
    let changes = now.changes_since(&hash, plans.iter().map(|plan| plan.clusters.keys()));
    let difference = told(&plans, &changes);
    shown_of(session, documents).await?;
    let message = format!(
        "the plan is stale, and nothing was changed: {difference}; above is the plan as it is now, with its hash"
    );
    Err(Ended::new(Exit::Stale, message).into())
}

/// What would be done for each document. Nothing is written, neither to the store nor to a cluster.
async fn planned(session: &Session, documents: &[Sourced], dry: Dry) -> anyhow::Result<Vec<CloudPlan>> {
    match session.place() {
        Place::Here(deployment) => planned_here(session, deployment, documents, dry).await,
        Place::There(client) => {
            let clouds = client.logical_clouds();
            let plans = documents.iter().map(|sourced| planned_there(clouds, sourced));
            // Made before they are begun: one that borrows while it is made can't be sent to another thread.
            let plans: Vec<_> = plans.collect();
            stream::iter(plans).buffered(PLANS_AT_ONCE_MAX).try_collect().await
        }
    }
}

async fn planned_here(
    session: &Session,
    deployment: &Deployment,
    documents: &[Sourced],
    dry: Dry,
) -> anyhow::Result<Vec<CloudPlan>> {
    let (mut are_new, mut contexts) = (Vec::new(), Vec::new());
    for sourced in documents {
        let Document { project, draft, .. } = &sourced.document;
        let foreseen = deployment.clouds().foresee(&session.caller, project, draft.clone()).await;
        let Foreseen { is_new, context, .. } = foreseen.with_context(|| sourced.title())?;
        contexts.push(context);
        are_new.push(is_new);
    }
    let planned = match dry {
        Dry::Runs => deployment.planner().plan(contexts).await?,
        Dry::Looks => deployment.planner().plan_unrehearsed(contexts).await?,
    };
    let plans = documents.iter().zip(are_new).zip(planned).map(|((sourced, is_new), planned)| {
        let Document { project, draft, .. } = &sourced.document;
        let (project, name) = (project.clone(), LogicalCloudName::new(&draft.metadata.name)?);
        Ok(CloudPlan { project, name, is_new, hash: planned.hash(), clusters: planned.outline() })
    });
    plans.collect()
}

async fn planned_there(clouds: Remote<'_>, sourced: &Sourced) -> anyhow::Result<CloudPlan> {
    let Document { project, draft, .. } = &sourced.document;
    let ask = async || -> Result<CloudPlan, place::Error> {
        let cloud = drafted(project, draft)?;
        let plan = clouds.plan(project, cloud.name(), &document::to_json(&cloud)?).await?;
        let (project, name) = (project.clone(), cloud.name().clone());
        Ok(CloudPlan { project, name, is_new: plan.is_new, hash: plan.hash, clusters: plan.clusters })
    };
    ask().await.with_context(|| sourced.title())
}

/// In words, what differs from an earlier plan.
fn told(plans: &[CloudPlan], changes: &Changes<'_>) -> String {
    if changes.clusters.is_empty() {
        return changes.to_string();
    }
    let named = changes.clusters.iter().map(|(number, cluster)| {
        let cloud = plans.get(*number).map_or("", |plan| plan.name.as_str());
        format!("{cluster} is not as it was ({cloud})")
    });
    named.collect::<Vec<_>>().join(", ")
}
