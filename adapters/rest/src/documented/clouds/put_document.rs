//! `PUT /v2/projects/{project}/logical-clouds/{cloud}/document`: the logical cloud is as the document says, with everything in
//! it. What it does not name is taken away. Nothing reaches a cluster before the next apply, which may be asked for here.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dcm_core::plan::PlanHash;
use dcm_core::service::{ApplyOutcome, EditId, EditOutcome, Edited};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Text;
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::documented::warnings;
use crate::installation::{DeclareError, Declared};
use crate::request::Asking;

/// What is done with a document.
#[derive(Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(in crate::documented) struct How {
    /// It is brought to its clusters, too, in place of what is under way.
    apply: bool,
    /// With `apply`: only where that does what the plan of this document with this hash says.
    plan_hash: Option<PlanHash>,
    /// Nothing is done: it is only checked whether it would be taken, and could be applied. A project that is not there is passed over, and no
    /// condition is taken.
    dry_run: bool,
}

/// What became of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StoredDocument")]
struct Stored {
    /// The number of the logical cloud's last edit.
    edit: u64,
    /// `created`, `changed` or `unchanged`.
    outcome: &'static str,
    /// With `apply`: `begun`, or `unchanged` where its clusters were to be so already.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<&'static str>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Make a logical cloud what its declarative document says",
        "With everything in it: what is not named any more is taken away. Sent again it changes nothing. No cluster is touched, unless it is \
         applied, too. Where something changes meanwhile it may be stored and not applied (409).",
    )
    .answers(StatusCode::OK, Answer::json::<Stored>("It is as the document says.").tagged().warned())
    .answers(StatusCode::CREATED, Answer::json::<Stored>("It is made.").tagged().warned())
    .answers(StatusCode::NO_CONTENT, Answer::empty("It would be taken (`dry-run`).").warned())
    .fails(&[Kind::NameMismatch, Kind::WrongState, Kind::InUse, Kind::PlanStale])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    asker: Asker,
    Asking(caller): Asking,
    when: If<EditId>,
    text: Text,
) -> Result<Response, Problem> {
    how.check()?;
    let document = text.read(&place).await?;
    let InCloud { project, cloud } = &place;
    if how.dry_run {
        when.must_be_none()?;
        services.clouds.foresee(&caller, project, document.draft).await?;
        return Ok((StatusCode::NO_CONTENT, warnings::headers(&document.warnings)).into_response());
    }
    if how.apply {
        let (named, draft) = ((project, cloud), &document.draft);
        let agreed = how.plan_hash.into();
        // Without a plan nothing is looked at.
        let look = services.look_if(how.plan_hash.is_some(), &asker)?;
        let declaring = look.declare(&caller, named, draft, &when.condition, agreed);
        let Declared { edited, applied } = declaring.await.map_err(|error| of_declaring(error, &when))?;
        return Ok(answer(&edited, Some(applied.outcome)).into_response());
    }
    let next = |_: Option<&_>| Ok(document.draft.clone());
    let put = services.clouds.edit(&caller, project, cloud, &when.condition, next).await;
    Ok(answer(&put.map_err(|error| when.told(error.into()))?, None).into_response())
}

impl How {
    fn check(&self) -> Result<(), Problem> {
        let malformed = |detail: &str| Err(Problem::new(Kind::Malformed, detail));
        match self {
            Self { apply: false, plan_hash: Some(_), .. } => {
                malformed("plan-hash says nothing without apply=true")
            }
            Self { apply: true, dry_run: true, .. } => malformed("say apply or dry-run, not both"),
            _ => Ok(()),
        }
    }
}

fn answer(edited: &Edited, applied: Option<ApplyOutcome>) -> impl IntoResponse {
    let (status, outcome) = match edited.outcome {
        EditOutcome::Created => (StatusCode::CREATED, "created"),
        EditOutcome::Changed => (StatusCode::OK, "changed"),
        EditOutcome::Unchanged => (StatusCode::OK, "unchanged"),
    };
    let applied = applied.map(|outcome| match outcome {
        ApplyOutcome::Begun | ApplyOutcome::Replaced(_) => "begun",
        ApplyOutcome::Unchanged => "unchanged",
    });
    let body = Stored { edit: edited.edit, outcome, applied };
    (status, [etag(edited.id())], warnings::headers(&edited.warnings), Json(body))
}

fn of_declaring(error: DeclareError, when: &If<EditId>) -> Problem {
    match error {
        DeclareError::Stale(stale) => stale.into(),
        DeclareError::Service(error) => when.told(error.into()),
        DeclareError::NotApplied(error) => Problem::of_action(error),
    }
}
