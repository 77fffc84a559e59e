//! `GET /v2/projects/{project}/logical-clouds/{cloud}/document`: the declarative document, with everything in it.

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use dcm_core::document;

use super::notation::MEDIA_TYPES;
use super::notation::Notation;
use super::text::DOCUMENT;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;
use crate::documented::warnings;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let document = Answer::empty("The declarative document, in canonical form.").tagged().warned();
    it.says(
        "Read the declarative document of a logical cloud",
        "The whole logical cloud in one. It is YAML for who accepts that and does not accept JSON before it.",
    )
    .answers(StatusCode::OK, MEDIA_TYPES.iter().fold(document, |answer, name| answer.with(name, DOCUMENT)))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let found = services.clouds.get(&project, &cloud).await?;
    let notation = Notation::accepted(&headers);
    let write = match notation {
        Notation::Json => document::to_json,
        Notation::Yaml => document::to_yaml,
    };
    let text = write(&found.cloud).map_err(|_| Problem::unexpected())?;
    let kind = [(CONTENT_TYPE, notation.content_type()), (VARY, "accept")];
    Ok(([etag(found.id())], kind, warnings::headers(&found.warnings), text))
}
