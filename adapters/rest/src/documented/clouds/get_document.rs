//! `GET /v2/projects/{project}/logical-clouds/{cloud}/document`: the declarative document, with everything in it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::response::IntoResponse;
use dcm_core::document;

use super::notation::Notation;
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;
use crate::documented::warnings;

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
