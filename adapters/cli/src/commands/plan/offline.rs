//! A plan without asking anybody: what would be rendered.

use anyhow::Context as _;
use dcm_core::app_context::{Action, Bundle, Request, Step};
use dcm_core::document::Document;
use dcm_core::logical_cloud::{AccountSeed, Epoch, Level, LogicalCloud, LogicalCloudUid, Serial};
use dcm_core::render::{self, Credential, Credentials};
use serde_json::{Value, json};

use crate::arguments::Global;
use crate::commands::documents::Sourced;
use crate::exit::Exit;
use crate::output::{self, Notation};

/// A document as it would be rendered.
struct Rendered {
    cloud: LogicalCloud,
    bundle: Bundle,
}

pub(super) fn run(global: &Global, documents: &[Sourced]) -> anyhow::Result<Exit> {
    let all: Vec<Rendered> = documents.iter().map(rendered).collect::<anyhow::Result<_>>()?;
    note_unknown(&all);
    match global.output.for_programs() {
        None => output::print(&table(&all))?,
        Some(Notation::Json) => {
            let plans: Vec<Value> = all.iter().map(value).collect();
            output::print(&Notation::Json.write(&plans)?)?;
        }
        Some(Notation::Yaml) => {
            let manifests = all.iter().flat_map(|one| one.bundle.steps()).filter_map(manifest);
            let texts =
                manifests.map(|body| Notation::Yaml.write(&body)).collect::<anyhow::Result<Vec<_>>>()?;
            output::print(&texts.join(output::NEXT_DOCUMENT))?;
        }
    }
    Ok(Exit::Done)
}

/// Renders a document as the first of a new cloud.
fn rendered(sourced: &Sourced) -> anyhow::Result<Rendered> {
    let title = sourced.title();
    let Document { project, draft, .. } = &sourced.document;
    let uid = LogicalCloudUid::from_random(0);
    let (cloud, _) = LogicalCloud::new(project.clone(), uid, draft.clone()).with_context(|| title.clone())?;
    let bundle = render::bundle(&cloud, &credentials(&cloud)).with_context(|| title)?;
    Ok(Rendered { cloud, bundle })
}

fn credentials(cloud: &LogicalCloud) -> Credentials {
    let users = cloud.users().iter();
    let first = |user| Credential::to_be_made(user, Epoch(1), Serial(1), AccountSeed::from_random(0));
    users.map(|user| (user.metadata.name.clone(), first(user))).collect()
}

/// Says what can't be known without a store.
fn note_unknown(all: &[Rendered]) {
    output::note(
        "offline: names that carry a cloud's UID are those of UID 0, credentials are the first of their user",
    );
    for cloud in all.iter().map(|one| &one.cloud) {
        if cloud.cluster_selector().is_some() {
            output::note(format_args!(
                "{}: its selector's clusters are looked up when it is applied",
                cloud.name()
            ));
        }
        if cloud.level() == Level::Admin {
            output::note(format_args!("{}: an admin cloud changes nothing on its clusters", cloud.name()));
        }
    }
}

fn table(all: &[Rendered]) -> String {
    let rows = all.iter().flat_map(|one| {
        let name = one.cloud.name().to_string();
        one.bundle.steps().iter().map(move |step| [name.clone(), step.stage.0.to_string(), subject(step)])
    });
    output::columns(["LOGICAL CLOUD", "STAGE", "STEP"], rows)
}

fn subject(step: &Step) -> String {
    match &step.action {
        Action::Apply { manifest, .. } => manifest.key().to_string(),
        Action::Edit { edit } => format!("edit {} of {}", edit.target.member, edit.target.key()),
        Action::Request { name, request: Request::Certificate(_) } => format!("request {name}"),
        Action::Request { name, request: Request::Token(_) } => format!("request {name}"),
    }
}

fn manifest(step: &Step) -> Option<Value> {
    match &step.action {
        Action::Apply { manifest, .. } => Some(manifest.shown()),
        Action::Edit { .. } | Action::Request { .. } => None,
    }
}

fn value(one: &Rendered) -> Value {
    let clusters: Vec<String> =
        one.cloud.references().iter().map(|reference| reference.cluster.to_string()).collect();
    let steps: Vec<Value> = one
        .bundle
        .steps()
        .iter()
        .map(|step| match &step.action {
            Action::Apply { manifest, existing, drift } => {
                json!({"stage": step.stage, "manifest": manifest.shown(), "existing": existing, "drift": drift})
            }
            Action::Edit { edit } => json!({"stage": step.stage, "edit": edit}),
            Action::Request { name, .. } => json!({"stage": step.stage, "request": name}),
        })
        .collect();
    json!({"project": one.cloud.project(), "name": one.cloud.name(), "clusters": clusters, "steps": steps})
}
