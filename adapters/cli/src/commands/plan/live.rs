//! A plan against the clusters as they are now, and its hash.

use std::collections::BTreeMap;

use anyhow::Context as _;
use dcm_client::LogicalClouds as Remote;
use dcm_core::causes::Reader;
use dcm_core::document::{self, Document};
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Changes, Outline, PlanHash};
use dcm_core::service::Foreseen;
use dcm_server::{Agreed, Deployment, PlannedDraft};
use dcm_sync::planning::Rehearsing;
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
    /// What an apply is given that is to do this.
    agreed: Agreed,
    pub(super) clusters: BTreeMap<ClusterId, Outline>,
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
    let plans = planned(session, documents, Rehearsing::Writes).await?;
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

/// The plan of each document, if all of them together have this hash. Fails as stale otherwise, with what differs; nothing is written.
pub(crate) async fn require(
    session: &Session,
    documents: &[Sourced],
    hash: PlanHash,
) -> anyhow::Result<Vec<Agreed>> {
    let plans = planned(session, documents, Rehearsing::Nothing).await?;
    let hashes: Vec<PlanHash> = plans.iter().map(|plan| plan.hash).collect();
    let now = PlanHash::joined(&hashes);
    if now == hash {
        return Ok(plans.into_iter().map(|plan| plan.agreed).collect());
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
async fn planned(
    session: &Session,
    documents: &[Sourced],
    rehearsing: Rehearsing,
) -> anyhow::Result<Vec<CloudPlan>> {
    match session.place() {
        Place::Here(deployment) => planned_here(session, deployment, documents, rehearsing).await,
        Place::There(client) => {
            let clouds = client.logical_clouds();
            let plans = documents.iter().map(|sourced| planned_there(clouds, sourced, rehearsing));
            // Made before they are begun: one that borrows while it is made can't be sent to another thread.
            let plans: Vec<_> = plans.collect();
            stream::iter(plans).buffered(PLANS_AT_ONCE_MAX).try_collect().await
        }
    }
}

/// All clusters of all documents are looked at at once.
async fn planned_here(
    session: &Session,
    deployment: &Deployment,
    documents: &[Sourced],
    rehearsing: Rehearsing,
) -> anyhow::Result<Vec<CloudPlan>> {
    let (mut are_new, mut contexts) = (Vec::new(), Vec::new());
    for sourced in documents {
        let Document { project, draft, .. } = &sourced.document;
        let foreseen = deployment.clouds().foresee(&session.caller, project, draft.clone()).await;
        let Foreseen { is_new, context, .. } = foreseen.with_context(|| sourced.title())?;
        contexts.push(context);
        are_new.push(is_new);
    }
    let planned = deployment.planner().plan(contexts, rehearsing).await?;
    let plans = documents.iter().zip(are_new).zip(planned).map(|((sourced, is_new), planned)| {
        let Document { project, draft, .. } = &sourced.document;
        let (project, name) = (project.clone(), LogicalCloudName::new(&draft.metadata.name)?);
        let (hash, clusters) = (planned.hash(), planned.outline(Reader::PlatformAdmin));
        let agreed = Agreed::Planned(Box::new(PlannedDraft { is_new, planned }));
        Ok(CloudPlan { project, name, is_new, hash, agreed, clusters })
    });
    plans.collect()
}

async fn planned_there(
    clouds: Remote<'_>,
    sourced: &Sourced,
    rehearsing: Rehearsing,
) -> anyhow::Result<CloudPlan> {
    let Document { project, draft, .. } = &sourced.document;
    let rehearses = rehearsing == Rehearsing::Writes;
    let ask = async || -> Result<CloudPlan, place::Error> {
        let cloud = drafted(project, draft)?;
        let plan = clouds.plan(project, cloud.name(), &document::to_json(&cloud)?, rehearses).await?;
        let dcm_client::Plan { hash, is_new, clusters, .. } = plan;
        let (project, name) = (project.clone(), cloud.name().clone());
        Ok(CloudPlan { project, name, is_new, hash, agreed: Agreed::Hash(hash), clusters })
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
