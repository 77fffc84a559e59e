//! How a plan is shown: as a table with colours, and to programs.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use dcm_core::fields::{FieldChange, Values};
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Act, Outline, OutlinedStep, PlanHash, Rehearsal};
use serde::Serialize;
use serde_json::Value;

use super::live::CloudPlan;
use crate::output;

/// Most fields that a line of the table names: programs get all of them.
const CHANGES_NAMED_MAX: usize = 5;

/// Most of a value that a line of the table shows.
const VALUE_CHARACTERS_MAX: usize = 40;

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
    clusters: BTreeMap<ClusterId, Outline>,
}

impl Shown {
    pub(super) fn of(plans: &[CloudPlan]) -> Self {
        let cloud = |plan: &CloudPlan| ShownCloud {
            project: plan.project.clone(),
            name: plan.name.clone(),
            clusters: plan.clusters.clone(),
        };
        let hashes: Vec<PlanHash> = plans.iter().map(|plan| plan.hash).collect();
        Self { hash: PlanHash::joined(&hashes), clouds: plans.iter().map(cloud).collect() }
    }
}

/// Columns, each line in the colour of what is done, and the hash.
pub(super) fn table(shown: &Shown) -> String {
    let rows: Vec<_> = shown.clouds.iter().flat_map(rows).collect();
    let styles: Vec<Style> = rows.iter().map(|(style, _)| *style).collect();
    let styles = [Style::new().bold()].into_iter().chain(styles);
    let columns = ["LOGICAL CLOUD", "CLUSTER", "ACTION", "OBJECT", "WHY"];
    let text = output::columns(columns, rows.into_iter().map(|(_, row)| row));
    let lines = text.lines().zip(styles).map(|(line, style)| format!("{style}{line}{style:#}\n"));
    format!("{}\nPlan hash: {}\n", lines.collect::<String>(), shown.hash)
}

fn rows(cloud: &ShownCloud) -> Vec<(Style, [String; 5])> {
    let of_cluster = |(cluster, outline): (&ClusterId, &Outline)| {
        let row = |action: &str, object: &str, why: &str| {
            [cloud.name.as_str(), &cluster.to_string(), action, object, &one_line(why)].map(str::to_owned)
        };
        match outline {
            Outline::Unknown(why) => vec![(alarming(), row("unknown", "-", why))],
            Outline::Steps(steps) => {
                let line = |step: &OutlinedStep| {
                    (style(step.action), row(&step.action.to_string(), &step.object, &said(step)))
                };
                let nothing = || (Style::new().dimmed(), row("nothing", "-", "everything is as desired"));
                let is_done = steps.iter().all(|step| step.action == Act::Warn);
                is_done.then(nothing).into_iter().chain(steps.iter().map(line)).collect()
            }
        }
    };
    cloud.clusters.iter().flat_map(of_cluster).collect()
}

/// Why it is done, and what a dry run gave.
fn said(step: &OutlinedStep) -> String {
    let why = &step.why;
    match &step.rehearsal {
        None => why.clone(),
        Some(Rehearsal::Unchecked(reason)) => format!("{why}; {reason}"),
        Some(Rehearsal::Refused(words)) => format!("{why}; the cluster would refuse it: {words}"),
        Some(Rehearsal::Lines(change)) => {
            let removed = change.removed.iter().map(|line| format!("-{line}"));
            let lines: Vec<String> =
                removed.chain(change.added.iter().map(|line| format!("+{line}"))).collect();
            format!("{why}; line {} of {}: {}", change.line, change.member, lines.join(" "))
        }
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

fn style(act: Act) -> Style {
    match act {
        Act::Create | Act::Request => AnsiColor::Green.on_default(),
        Act::Update | Act::Edit | Act::Adopt | Act::Overwrite | Act::Correct => {
            AnsiColor::Yellow.on_default()
        }
        Act::Delete | Act::DeleteIfEmpty | Act::Release => AnsiColor::Red.on_default(),
        Act::Blocked => alarming(),
        Act::Report | Act::Warn => AnsiColor::Magenta.on_default(),
        Act::Wait => Style::new(),
    }
}

fn alarming() -> Style {
    AnsiColor::Red.on_default().bold()
}
