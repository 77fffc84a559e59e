//! `PUT /v2/projects/{project}/logical-clouds/{cloud}/document`: the logical cloud is as the document says, with everything in
//! it. What it does not name is taken away. Nothing reaches a cluster before the next apply.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::{EditId, EditOutcome};
use schemars::JsonSchema;
use serde::Serialize;

use super::text::Text;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What became of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StoredDocument")]
struct Stored {
    /// The number of the logical cloud's last edit.
    edit: u64,
    /// `created`, `changed` or `unchanged`.
    outcome: &'static str,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Make a logical cloud what its declarative document says",
        "With everything in it: what is not named any more is taken away. Sent again it changes nothing. No cluster is touched.",
    )
    .answers(StatusCode::OK, Answer::json::<Stored>("It is as the document says.").tagged().warned())
    .answers(StatusCode::CREATED, Answer::json::<Stored>("It is made.").tagged().warned())
    .fails(&[Kind::NameMismatch, Kind::WrongState, Kind::InUse])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<EditId>,
    text: Text,
) -> Result<impl IntoResponse, Problem> {
    let document = text.read(&place)?;
    let InCloud { project, cloud } = &place;
    let next = |_: Option<&_>| Ok(document.draft.clone());
    let put = services.clouds.edit(&caller, project, cloud, &when.condition, next).await;
    let put = put.map_err(|error| when.told(error.into()))?;
    let (status, outcome) = match put.outcome {
        EditOutcome::Created => (StatusCode::CREATED, "created"),
        EditOutcome::Changed => (StatusCode::OK, "changed"),
        EditOutcome::Unchanged => (StatusCode::OK, "unchanged"),
    };
    let body = Stored { edit: put.edit, outcome };
    Ok((status, [etag(put.id())], warnings::headers(&put.warnings), Json(body)))
}
