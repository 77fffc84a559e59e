//! `POST /v2/projects/{project}/logical-clouds/{cloud}/plan`: what an apply of a document would do that is not stored.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::plan::{How, Plan};
use super::text::Text;
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Plan what an apply of a document would do",
        "The document is not stored. Where the cloud is not stored either, names that carry its UID are not known yet.",
    )
    .answers(StatusCode::OK, Answer::json::<Plan>("The plan.").warned())
    .fails(&[Kind::NameMismatch, Kind::WrongState, Kind::InUse])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    asker: Asker,
    Asking(caller): Asking,
    text: Text,
) -> Result<impl IntoResponse, Problem> {
    let document = text.read(&place).await?;
    let warnings = warnings::headers(&document.warnings);
    Ok((
        warnings,
        Json(Plan::of(&services.look(&asker)?, (&asker, &caller), place, &document.draft, &how).await?),
    ))
}
