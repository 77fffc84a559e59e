//! `PUT /v2/projects/{project}/logical-clouds/{cloud}`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::service::EditId;

use crate::documented::body::Body;
use crate::documented::objects::{LogicalCloudBody, Put};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::documented::warnings;
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<EditId>,
    Body { read, .. }: Body<LogicalCloudBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_names(read.name(), cloud.as_str())?;
    let named = read.user().map(str::to_owned);
    let next = |current: Option<&_>| read.clone().onto(&cloud, current);
    let put = services.clouds.edit(&caller, &project, &cloud, &when.condition, next).await;
    let put = put.map_err(|error| when.told(error.into()).of_fields(|path| read.fields().of(path)))?;
    let body = Put::of(&put.cloud, named);
    Ok(([etag(put.id())], warnings::headers(&put.warnings), Json(body)))
}
