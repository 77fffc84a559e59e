//! A plan against the clusters as they are now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, Bundle};
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Plan, Why, Work, named_fields};
use dcm_core::render::naming::Identity;
use dcm_core::service::{CloudStatus, Error};
use dcm_core::status::{Cause, LaneStatus, RequestState};
use dcm_server::{Placed, live_plan};
use serde::Serialize;

use super::{Rendered, rendered};
use crate::arguments::Global;
use crate::commands::apply;
use crate::commands::documents::Sourced;
use crate::exit::Exit;
use crate::output;
use crate::session::Session;

/// What would be done for one logical cloud.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CloudPlan {
    project: ProjectName,
    name: LogicalCloudName,
    clusters: BTreeMap<ClusterId, ClusterPlan>,
}

/// What would be done on one cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum ClusterPlan {
    /// These steps; none when everything is as desired.
    Steps(Vec<ShownStep>),
    /// It could not be looked at.
    Unknown(String),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownStep {
    action: &'static str,
    object: String,
    why: String,
}

pub(super) async fn run(global: &Global, documents: Vec<Sourced>) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    // What an apply would refuse has no plan.
    apply::check(&session, &documents).await?;
    let mut plans = Vec::with_capacity(documents.len());
    for document in documents {
        plans.push(of_document(&session, document).await?);
    }
    output::print_either(session.format, &plans, || table(&plans))?;
    let unknown = plans.iter().flat_map(|plan| plan.clusters.values()).any(ClusterPlan::is_unknown);
    Ok(if unknown { Exit::Failed } else { Exit::Done })
}

async fn of_document(session: &Session, sourced: Sourced) -> anyhow::Result<CloudPlan> {
    let document = &sourced.document;
    let name = LogicalCloudName::new(&document.draft.metadata.name)?;
    let status = match session.deployment.clouds().status(&document.project, &name).await {
        Ok(status) => Some(status),
        Err(Error::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let foreseen = session.deployment.clouds().foresee(&document.project, document.draft.clone()).await?;
    if foreseen.is_none() {
        output::note(format_args!("{name}: not stored yet: names that carry its UID are those of UID 0"));
    }
    let Rendered { cloud, bundle } = rendered(sourced, foreseen.as_ref())?;
    let clusters = clusters(session, &cloud).await?;
    let mut lanes: BTreeMap<ClusterId, Option<&LaneStatus>> =
        clusters.iter().map(|cluster| (cluster.clone(), None)).collect();
    for (cluster, found) in status.iter().flat_map(|status: &CloudStatus| &status.clusters) {
        if let Some(lane) = &found.lane {
            lanes.insert(cluster.clone(), Some(lane));
        }
    }
    let nothing = Bundle::new(Vec::new())?;
    let looks = lanes.into_iter().map(|(cluster, lane)| {
        let wanted = if clusters.contains(&cluster) { &bundle } else { &nothing };
        let cloud = &cloud;
        async move {
            let plan = of_cluster(session, cloud, &cluster, lane, wanted).await;
            (cluster, plan.unwrap_or_else(|error| ClusterPlan::Unknown(format!("{error:#}"))))
        }
    });
    let clusters = futures::future::join_all(looks).await.into_iter().collect();
    Ok(CloudPlan { project: cloud.project().clone(), name, clusters })
}

/// The clusters that an apply would bring it to.
async fn clusters(session: &Session, cloud: &LogicalCloud) -> anyhow::Result<BTreeSet<ClusterId>> {
    let registered = session.clusters().await?;
    let labels = registered.iter().map(|one| (&one.registration.id, &one.registration.labels));
    let resolved = cloud.with_selected(labels)?;
    Ok(resolved.references().iter().map(|reference| reference.cluster.clone()).collect())
}

async fn of_cluster(
    session: &Session,
    cloud: &LogicalCloud,
    cluster: &ClusterId,
    lane: Option<&LaneStatus>,
    bundle: &Bundle,
) -> anyhow::Result<ClusterPlan> {
    let deployment = &session.deployment;
    let reached = deployment.clusters().connect(cluster).await?;
    let identity = Identity::of(cloud);
    let context = identity.context_id();
    let placed = Placed { context: &context, labels: Arc::new(identity.labels()), bundle };
    let (kinds, issued) = (kinds(lane, bundle), issued(lane));
    let plan = live_plan(&*reached, &deployment.call(), &placed, &kinds, &issued).await?;
    Ok(ClusterPlan::Steps(steps(&plan)))
}

/// The kinds of what is there already. A status tells no versions; what the bundle does not name is of version 1 where
/// we render it.
fn kinds(lane: Option<&LaneStatus>, bundle: &Bundle) -> BTreeSet<GroupVersionKind> {
    let known: BTreeMap<_, _> = bundle
        .steps()
        .iter()
        .filter_map(|step| match &step.action {
            Action::Apply { manifest, .. } => Some(manifest.kind()),
            Action::Request { .. } => None,
        })
        .map(|kind| ((&*kind.group, &*kind.kind), kind))
        .collect();
    let objects = lane.into_iter().flat_map(|lane| &lane.objects);
    objects
        .map(|object| {
            let (group, kind) = (&*object.key.group, &*object.key.kind);
            let version = GroupVersionKind::new(group, "v1", kind);
            known.get(&(group, kind)).map_or(version, |kind| (*kind).clone())
        })
        .collect()
}

fn issued(lane: Option<&LaneStatus>) -> BTreeSet<Arc<str>> {
    let requests = lane.into_iter().flat_map(|lane| &lane.requests);
    requests
        .filter(|request| request.state == RequestState::Issued)
        .map(|request| request.name.clone())
        .collect()
}

fn steps(plan: &Plan) -> Vec<ShownStep> {
    let shown = |step: &dcm_core::plan::Step| {
        let action = action(step)?;
        let object = match &step.work {
            Work::Request { name, .. } => name.to_string(),
            _ => step.key.to_string(),
        };
        Some(ShownStep { action, object, why: why(step) })
    };
    let reported = |cause: &Cause| ShownStep {
        action: "report",
        object: cause.object.as_ref().map(ToString::to_string).unwrap_or_default(),
        why: cause.message.to_string(),
    };
    plan.steps().iter().filter_map(shown).chain(plan.drift().iter().map(reported)).collect()
}

/// What is done, in a word; none for what touches no cluster.
fn action(step: &dcm_core::plan::Step) -> Option<&'static str> {
    Some(match (&step.work, step.why) {
        (Work::Create { .. }, _) => "create",
        (Work::Update { .. }, Why::Adopted) => "adopt",
        (Work::Update { .. }, Why::Overwritten) => "overwrite",
        (Work::Update { .. }, Why::Drifted) => "correct",
        (Work::Update { .. }, _) => "update",
        (Work::Delete { .. }, _) => "delete",
        (Work::Count, _) => "delete if empty",
        (Work::Release { .. }, _) => "release",
        (Work::Request { .. }, _) => "request",
        (Work::Await(_), _) => "wait",
        (Work::Blocked(_), _) => "blocked",
        (Work::Look | Work::Forget | Work::Unrecord, _) => return None,
    })
}

/// Why it is done, and which fields change hands.
fn why(step: &dcm_core::plan::Step) -> String {
    match &step.work {
        Work::Await(cause) | Work::Blocked(cause) => cause.message.to_string(),
        Work::Update { terms, .. } if !terms.taken.is_empty() => {
            format!("{}: {}", step.why, named_fields(terms.taken.iter()))
        }
        _ => step.why.to_string(),
    }
}

impl ClusterPlan {
    fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

fn table(plans: &[CloudPlan]) -> String {
    let rows = plans.iter().flat_map(|plan| {
        plan.clusters.iter().flat_map(|(cluster, found)| {
            let row = |[action, object, why]: [&str; 3]| {
                [plan.name.as_str(), &cluster.to_string(), action, object, why].map(str::to_owned)
            };
            match found {
                ClusterPlan::Unknown(why) => vec![row(["unknown", "-", why])],
                ClusterPlan::Steps(steps) if steps.is_empty() => {
                    vec![row(["nothing", "-", "everything is as desired"])]
                }
                ClusterPlan::Steps(steps) => {
                    steps.iter().map(|step| row([step.action, &step.object, &step.why])).collect()
                }
            }
        })
    });
    output::columns(["LOGICAL CLOUD", "CLUSTER", "ACTION", "OBJECT", "WHY"], rows)
}
