//! A plan against the clusters as they are now, and its hash.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use dcm_core::app_context::AppContext;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Observed, PlanHash};
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::render::naming::Identity;
use dcm_server::Planned;

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
    let plans = of_checked(&session, &documents).await?;
    show(&session, &plans)?;
    let unknown = plans.iter().flat_map(|plan| plan.planned.clusters.values()).any(Result::is_err);
    Ok(if unknown { Exit::Failed } else { Exit::Done })
}

fn show(session: &Session, plans: &[CloudPlan]) -> anyhow::Result<()> {
    let shown = Shown::of(hash_of(plans, None).now, plans);
    match session.format.for_programs() {
        Some(notation) => output::print(&notation.write(&shown)?),
        None => output::print_painted(&shown::table(&shown)),
    }
}

/// Fails as stale, with what differs, unless the plan of these documents has this hash. Nothing is written before.
pub(crate) async fn require(
    session: &Session,
    documents: &[Sourced],
    hash: PlanHash,
) -> anyhow::Result<Vec<CloudPlan>> {
    let plans = of_checked(session, documents).await?;
    let compared = hash_of(&plans, Some(hash));
    if compared.now == hash {
        return Ok(plans);
    }
    show(session, &plans)?;
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
    let mut again = of_documents(session, new).await?.into_iter();
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

/// The plan of each document. What an apply would refuse has none.
async fn of_checked(session: &Session, documents: &[Sourced]) -> anyhow::Result<Vec<CloudPlan>> {
    apply::check(session, documents).await?;
    of_documents(session, documents).await
}

/// The plan of each document; nothing is written, neither to the store nor to a cluster.
async fn of_documents(
    session: &Session,
    documents: impl IntoIterator<Item = &Sourced>,
) -> anyhow::Result<Vec<CloudPlan>> {
    let (mut clouds, mut contexts) = (Vec::new(), Vec::new());
    for document in documents {
        let Wanted { cloud, is_new, context } = wanted(session, document).await?;
        clouds.push((cloud, is_new));
        contexts.push(context);
    }
    let planned = session.deployment.plan(contexts).await?;
    let plan = |((cloud, is_new), planned): ((LogicalCloud, bool), Planned)| {
        let (project, name) = (cloud.project().clone(), cloud.name().clone());
        CloudPlan { project, name, is_new, planned }
    };
    Ok(clouds.into_iter().zip(planned).map(plan).collect())
}

/// The cloud of a document, and what an apply would hand over of it.
struct Wanted {
    cloud: LogicalCloud,
    is_new: bool,
    context: AppContext,
}

async fn wanted(session: &Session, sourced: &Sourced) -> anyhow::Result<Wanted> {
    let document = &sourced.document;
    let foreseen = session.deployment.clouds().foresee(&document.project, document.draft.clone()).await?;
    if foreseen.is_none() {
        let name = &document.draft.metadata.name;
        output::note(format_args!("{name}: not stored yet: names that carry its UID are those of UID 0"));
    }
    let Rendered { cloud, bundle } = rendered(sourced, foreseen.as_ref())?;
    let (identity, bundle) = (Identity::of(&cloud), Arc::new(bundle));
    let clusters = clusters(session, &cloud).await?.into_iter();
    let context = AppContext {
        id: identity.context_id(),
        labels: identity.labels(),
        removal: cloud.removal(),
        placements: clusters.map(|cluster| (cluster, bundle.clone())).collect(),
    };
    Ok(Wanted { cloud, is_new: foreseen.is_none(), context })
}

/// The clusters that an apply would bring it to.
async fn clusters(session: &Session, cloud: &LogicalCloud) -> anyhow::Result<BTreeSet<ClusterId>> {
    let registered = session.clusters().await?;
    let labels = registered.iter().map(|one| (&one.registration.id, &one.registration.labels));
    let resolved = cloud.with_selected(labels)?;
    Ok(resolved.references().iter().map(|reference| reference.cluster.clone()).collect())
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
