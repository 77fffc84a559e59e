//! A plan against the clusters as they are now, and its hash.

use std::fmt::Write as _;
use std::sync::Arc;

use dcm_core::app_context::{AppContext, Bundle};
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Observed, PlanHash};
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::render::naming::Identity;
use dcm_core::service::RegisteredCluster;
use dcm_sync::planning::Planned;

use super::shown::{self, Shown};
use super::{Rendered, rendered};
use crate::arguments::Global;
use crate::commands::apply;
use crate::commands::documents::Sourced;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::session::Session;

/// What would be done for one logical cloud.
pub(crate) struct CloudPlan {
    pub(super) project: ProjectName,
    pub(super) name: LogicalCloudName,
    /// It is not stored: it has no identity yet.
    is_new: bool,
    pub(super) planned: Planned,
}

pub(super) async fn run(global: &Global, documents: Vec<Sourced>) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    apply::check(&session, &documents).await?;
    let plans = shown_of(&session, &documents).await?;
    let unknown = plans.iter().flat_map(|plan| plan.planned.clusters.values()).any(Result::is_err);
    Ok(if unknown { Exit::Failed } else { Exit::Done })
}

/// Plans with a dry run of each write, and shows that.
async fn shown_of(session: &Session, documents: &[Sourced]) -> anyhow::Result<Vec<CloudPlan>> {
    let (clouds, contexts) = wanted(session, documents).await?;
    for name in clouds.iter().filter(|cloud| cloud.is_new).map(|cloud| &cloud.name) {
        output::note(format_args!("{name}: not stored yet: names that carry its UID are those of UID 0"));
    }
    let plans = planned(clouds, session.deployment.planner().plan(contexts).await?);
    let shown = Shown::of(hash_of(&plans, None).now, &plans);
    match session.format.for_programs() {
        Some(notation) => output::print(&notation.write(&shown)?)?,
        None => output::print_painted(&shown::table(&shown))?,
    }
    Ok(plans)
}

/// Fails as stale, with what differs, unless the plan of these documents has this hash. Nothing is written before.
pub(crate) async fn require(
    session: &Session,
    documents: &[Sourced],
    hash: PlanHash,
) -> anyhow::Result<Vec<CloudPlan>> {
    apply::check(session, documents).await?;
    let plans = unrehearsed(session, documents).await?;
    let compared = hash_of(&plans, Some(hash));
    if compared.now == hash {
        return Ok(plans);
    }
    shown_of(session, documents).await?;
    let message = format!(
        "the plan is stale, and nothing was changed: {}; above is the plan as it is now, with its hash",
        compared.difference
    );
    Err(Ended::new(Exit::Stale, message).into())
}

/// What applies are bound to that are to do what was planned for these documents, which are stored by now.
pub(crate) async fn planned_states(
    session: &Session,
    documents: &[Sourced],
    plans: Vec<CloudPlan>,
) -> anyhow::Result<Vec<PlannedState>> {
    // A cloud that was not stored when it was planned had no identity: it is looked at once more under its own.
    let new = documents.iter().zip(&plans).filter(|(_, plan)| plan.is_new).map(|(document, _)| document);
    let mut again = unrehearsed(session, new).await?.into_iter();
    let state = |plan: CloudPlan| {
        let now = if plan.is_new { again.next() } else { None };
        let plan = match now {
            Some(now) => as_planned(&plan, now)?,
            None => plan,
        };
        Ok(plan.planned.state())
    };
    plans.into_iter().map(state).collect()
}

/// The plan of a cloud that was stored since it was planned; fails as stale where a cluster is not as it was then.
fn as_planned(plan: &CloudPlan, now: CloudPlan) -> anyhow::Result<CloudPlan> {
    let (planned, found) = (plan.planned.observed(), now.planned.observed());
    let agrees = |cluster: &ClusterId, planned: &Option<Observed>| match (planned, found.get(cluster)) {
        (Some(planned), Some(Some(found))) => planned.agrees_with(found),
        (None, Some(None)) => true,
        _ => false,
    };
    if planned.len() == found.len() && planned.iter().all(|(cluster, seen)| agrees(cluster, seen)) {
        return Ok(now);
    }
    let name = &plan.name;
    let message =
        format!("the plan is stale: {name} is stored, and is not applied: a cluster is not as it was");
    Err(Ended::new(Exit::Stale, message).into())
}

/// The plan of each document, as far as hashes and bindings go; nothing is written, neither to the store nor to a cluster.
async fn unrehearsed(
    session: &Session,
    documents: impl IntoIterator<Item = &Sourced>,
) -> anyhow::Result<Vec<CloudPlan>> {
    let (clouds, contexts) = wanted(session, documents).await?;
    Ok(planned(clouds, session.deployment.planner().plan_unrehearsed(contexts).await?))
}

/// The cloud of a document.
struct Wanted {
    project: ProjectName,
    name: LogicalCloudName,
    is_new: bool,
}

fn planned(clouds: Vec<Wanted>, planned: Vec<Planned>) -> Vec<CloudPlan> {
    let plan = |(Wanted { project, name, is_new }, planned)| CloudPlan { project, name, is_new, planned };
    clouds.into_iter().zip(planned).map(plan).collect()
}

/// The cloud of each document, and what an apply would hand over of it.
async fn wanted(
    session: &Session,
    documents: impl IntoIterator<Item = &Sourced>,
) -> anyhow::Result<(Vec<Wanted>, Vec<AppContext>)> {
    let registered = session.clusters().await?;
    let (mut clouds, mut contexts) = (Vec::new(), Vec::new());
    for sourced in documents {
        let document = &sourced.document;
        let foreseen = session.deployment.clouds().foresee(&document.project, document.draft.clone()).await?;
        let Rendered { cloud, bundle } = rendered(sourced, foreseen.as_ref())?;
        contexts.push(context(&cloud, bundle, &registered)?);
        let (project, name) = (cloud.project().clone(), cloud.name().clone());
        clouds.push(Wanted { project, name, is_new: foreseen.is_none() });
    }
    Ok((clouds, contexts))
}

/// What an apply would hand over.
fn context(
    cloud: &LogicalCloud,
    bundle: Bundle,
    registered: &[RegisteredCluster],
) -> anyhow::Result<AppContext> {
    let (identity, bundle) = (Identity::of(cloud), Arc::new(bundle));
    let labels = registered.iter().map(|one| (&one.registration.id, &one.registration.labels));
    let resolved = cloud.with_selected(labels)?;
    let clusters = resolved.references().iter().map(|reference| reference.cluster.clone());
    Ok(AppContext {
        id: identity.context_id(),
        labels: identity.labels(),
        removal: cloud.removal(),
        placements: clusters.map(|cluster| (cluster, bundle.clone())).collect(),
    })
}

/// A hash, and in words what differs from an earlier one.
struct Compared {
    now: PlanHash,
    difference: String,
}

fn hash_of(plans: &[CloudPlan], earlier: Option<PlanHash>) -> Compared {
    let observed: Vec<_> = plans.iter().map(|plan| plan.planned.observed()).collect();
    let parts: Vec<_> =
        plans.iter().zip(&observed).map(|(plan, observed)| plan.planned.part(observed)).collect();
    let now = PlanHash::of(&parts);
    let changes = earlier.map(|earlier| now.changes_since(&earlier, &parts)).unwrap_or_default();
    let mut difference = String::new();
    if changes.wanted {
        difference.push_str("something else is wanted than was planned, or of other clusters");
    }
    for (context, cluster) in changes.clusters {
        let cloud = plans.iter().find(|plan| plan.planned.context.id == *context).map(|plan| &plan.name);
        let separator = if difference.is_empty() { "" } else { ", " };
        let name = cloud.map(LogicalCloudName::as_str).unwrap_or_default();
        let _ = write!(difference, "{separator}{cluster} is not as it was ({name})");
    }
    if difference.is_empty() {
        difference.push_str("a cluster is not as it was");
    }
    Compared { now, difference }
}
