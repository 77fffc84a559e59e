//! A plan against the clusters as they are now, and its hash.

use anyhow::Context as _;
use dcm_core::app_context::AppContext;
use dcm_core::document::Document;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::plan::PlanHash;
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::service::Foreseen;
use dcm_sync::planning::{self, Planned};

use super::shown::{self, Shown};
use crate::arguments::Global;
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
    let plans = planned(clouds, session.here()?.planner().plan(contexts).await?);
    let shown = Shown::of(&plans);
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
    let plans = unrehearsed(session, documents).await?;
    let Some(difference) = difference(&plans, &hash) else { return Ok(plans) };
    shown_of(session, documents).await?;
    let message = format!(
        "the plan is stale, and nothing was changed: {difference}; above is the plan as it is now, with its hash"
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
    if plan.planned.is_agreed_by(&now.planned) {
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
    Ok(planned(clouds, session.here()?.planner().plan_unrehearsed(contexts).await?))
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
    let (mut clouds, mut contexts) = (Vec::new(), Vec::new());
    for sourced in documents {
        let Document { project, draft, .. } = &sourced.document;
        let foreseen = session.here()?.clouds().foresee(&session.caller, project, draft.clone()).await;
        let Foreseen { is_new, context, .. } = foreseen.with_context(|| sourced.title())?;
        let name = LogicalCloudName::new(&draft.metadata.name)?;
        contexts.push(context);
        clouds.push(Wanted { project: project.clone(), name, is_new });
    }
    Ok((clouds, contexts))
}

/// In words, what differs from an earlier plan; none where nothing does.
fn difference(plans: &[CloudPlan], earlier: &PlanHash) -> Option<String> {
    let planned = plans.iter().map(|plan| &plan.planned);
    let difference = planning::difference(planned, earlier)?;
    if difference.clusters.is_empty() {
        return Some(difference.to_string());
    }
    let named = difference.clusters.into_iter().map(|(context, cluster)| {
        let cloud = plans.iter().find(|plan| plan.planned.context.id == context).map(|plan| &plan.name);
        format!("{cluster} is not as it was ({})", cloud.map(LogicalCloudName::as_str).unwrap_or_default())
    });
    Some(named.collect::<Vec<_>>().join(", "))
}
