//! `GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revocation`: what became of it, cluster by cluster.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::name::UserName;
use dcm_core::service::Revocation;

use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Read what became of a revocation",
        "On which clusters it is done, and which bindings of other clients name an earlier identity.",
    )
    .answers(StatusCode::OK, Answer::json::<Revocation>("What became of it."))
    .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<UserName>>,
    Asked(Nothing {}): Asked<Nothing>,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    let (revoked, context) = services.clouds.revocation(&project, &cloud, &name).await?;
    let others = services.look(&asker)?.other_bindings(&revoked.lapsed()).await;
    Ok(Json(revoked.report(others, |id| context.as_ref()?.lanes.get(id), asker.reader())))
}
