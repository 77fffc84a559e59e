//! How a plan is shown: as a table with colours, and to programs.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use dcm_core::fields::{FieldChange, Values};
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{PlanHash, Step, Why, Work, named_fields};
use dcm_core::status::Cause;
use dcm_sync::planning::{LivePlan, PlanError, Rehearsal};
use serde::Serialize;
use serde_json::Value;

use super::live::CloudPlan;
use crate::output;

/// Most fields that a line of the table names: programs get all of them.
const CHANGES_NAMED_MAX: usize = 5;

/// Most of a value that a line of the table shows.
const VALUE_CHARACTERS_MAX: usize = 40;

/// Why nothing is done on a cluster that is not the one that was there before.
const REPLACED: &str =
    "it is another cluster than the one that was reached before; accept it with dcm cluster accept";

/// A plan of all documents.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    hash: PlanHash,
    clouds: Vec<ShownCloud>,
}

/// What would be done for one logical cloud.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownCloud {
    project: ProjectName,
    name: LogicalCloudName,
    clusters: BTreeMap<ClusterId, ShownCluster>,
}

/// What would be done on one cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum ShownCluster {
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
    /// What a dry run of the cluster gave.
    #[serde(flatten)]
    rehearsal: Option<Rehearsal>,
}

impl Shown {
    pub(super) fn of(hash: PlanHash, plans: &[CloudPlan]) -> Self {
        let cloud = |plan: &CloudPlan| ShownCloud {
            project: plan.project.clone(),
            name: plan.name.clone(),
            clusters: plan
                .planned
                .clusters
                .iter()
                .map(|(id, found)| (id.clone(), cluster(id, found)))
                .collect(),
        };
        Self { hash, clouds: plans.iter().map(cloud).collect() }
    }
}

fn cluster(id: &ClusterId, found: &Result<LivePlan, PlanError>) -> ShownCluster {
    match found {
        Err(error) => ShownCluster::Unknown(format!("{:#}", anyhow::Error::new(error.clone()))),
        Ok(live) if live.is_replaced => {
            let step = ShownStep {
                action: "blocked",
                object: id.to_string(),
                why: REPLACED.to_owned(),
                rehearsal: None,
            };
            ShownCluster::Steps(vec![step])
        }
        Ok(live) => ShownCluster::Steps(steps(live)),
    }
}

fn steps(live: &LivePlan) -> Vec<ShownStep> {
    let shown = |step: &Step| {
        let action = action(step)?;
        let object = match &step.work {
            Work::Request { name, .. } => name.to_string(),
            _ => step.key.to_string(),
        };
        let rehearsal = live.rehearsals.get(&step.key).cloned();
        Some(ShownStep { action, object, why: why(step), rehearsal })
    };
    let reported = |cause: &Cause| ShownStep {
        action: "report",
        object: cause.object.as_ref().map(ToString::to_string).unwrap_or_default(),
        why: cause.message.to_string(),
        rehearsal: None,
    };
    live.plan.steps().iter().filter_map(shown).chain(live.plan.drift().iter().map(reported)).collect()
}

/// What is done, in a word; none for what touches no cluster.
fn action(step: &Step) -> Option<&'static str> {
    Some(match (&step.work, step.why) {
        // It is made as soon as its record is cleared.
        (Work::Create { .. } | Work::Unrecord, _) => "create",
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
        (Work::Look | Work::Forget, _) => return None,
    })
}

/// Why it is done, and which fields change hands.
fn why(step: &Step) -> String {
    match &step.work {
        Work::Await(cause) | Work::Blocked(cause) => cause.message.to_string(),
        Work::Update { terms, .. } if !terms.taken.is_empty() => {
            format!("{}: {}", step.why, named_fields(terms.taken.iter()))
        }
        _ => step.why.to_string(),
    }
}

/// Columns, each line in the colour of what is done, and the hash.
pub(super) fn table(shown: &Shown) -> String {
    let rows: Vec<[String; 5]> = shown.clouds.iter().flat_map(rows).collect();
    let styles: Vec<Style> = rows.iter().map(|[_, _, action, ..]| style(action)).collect();
    let styles = [Style::new().bold()].into_iter().chain(styles);
    let text = output::columns(["LOGICAL CLOUD", "CLUSTER", "ACTION", "OBJECT", "WHY"], rows);
    let lines = text.lines().zip(styles).map(|(line, style)| format!("{style}{line}{style:#}\n"));
    format!("{}\nPlan hash: {}\n", lines.collect::<String>(), shown.hash)
}

fn rows(cloud: &ShownCloud) -> Vec<[String; 5]> {
    let of_cluster = |(cluster, found): (&ClusterId, &ShownCluster)| {
        let row = |[action, object, why]: [&str; 3]| {
            [cloud.name.as_str(), &cluster.to_string(), action, object, &one_line(why)].map(str::to_owned)
        };
        match found {
            ShownCluster::Unknown(why) => vec![row(["unknown", "-", why])],
            ShownCluster::Steps(steps) if steps.is_empty() => {
                vec![row(["nothing", "-", "everything is as desired"])]
            }
            ShownCluster::Steps(steps) => {
                steps.iter().map(|step| row([step.action, &step.object, &said(step)])).collect()
            }
        }
    };
    cloud.clusters.iter().flat_map(of_cluster).collect()
}

/// Why it is done, and what a dry run gave.
fn said(step: &ShownStep) -> String {
    let why = &step.why;
    match &step.rehearsal {
        None => why.clone(),
        Some(Rehearsal::Unchecked(reason)) => format!("{why}; {reason}"),
        Some(Rehearsal::Refused(words)) => format!("{why}; the cluster would refuse it: {words}"),
        Some(Rehearsal::Changes(changes)) => {
            let named = changes.iter().take(CHANGES_NAMED_MAX).map(changed);
            let more = changes.len().saturating_sub(CHANGES_NAMED_MAX);
            let more = (more > 0).then(|| format!("{more} more"));
            let all: Vec<String> = [why.clone()].into_iter().chain(named).chain(more).collect();
            all.join("; ")
        }
    }
}

fn changed(change: &FieldChange) -> String {
    let Some(Values { before, after }) = &change.values else { return format!("{} changes", change.path) };
    format!("{} {} → {}", change.path, shortened(before), shortened(after))
}

/// A value as JSON, or its beginning; nothing is a dash.
fn shortened(value: &Value) -> String {
    let text = if value.is_null() { "-".to_owned() } else { value.to_string() };
    match text.char_indices().nth(VALUE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Others' words may have several lines; a row has one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn style(action: &str) -> Style {
    match action {
        "create" | "request" => AnsiColor::Green.on_default(),
        "update" | "adopt" | "overwrite" | "correct" => AnsiColor::Yellow.on_default(),
        "delete" | "delete if empty" | "release" => AnsiColor::Red.on_default(),
        "blocked" | "unknown" => AnsiColor::Red.on_default().bold(),
        "report" => AnsiColor::Magenta.on_default(),
        "nothing" => Style::new().dimmed(),
        _ => Style::new(),
    }
}
