//! `PUT /v2/projects/{project}/logical-clouds/{cloud}`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::EditId;

use crate::documented::body::Body;
use crate::documented::objects::{LogicalCloudBody, Put};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Make a logical cloud, or change what is named",
        "`metadata`, `namespace`, `level`, `labels` and `user-permissions` are replaced as a whole where they are named, and stay where they \
         are not. An empty text, list or mapping takes away. No cluster is touched.",
    )
    .answers(StatusCode::OK, Answer::json::<Put>("It is as the body says.").tagged().warned())
    .fails(&[Kind::NotFound, Kind::NameMismatch, Kind::WrongState, Kind::InUse])
}

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
