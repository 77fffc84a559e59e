//! `DELETE /v2/projects/{project}/logical-clouds/{cloud}/other-bindings`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::OtherBindingsReport;

use super::other_bindings::Whose;
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Remove identities from the bindings of other clients",
        "Each identity of the logical cloud without rights of ours is removed from the RoleBindings and ClusterRoleBindings of other \
         clients. A binding without any other subject is deleted. One that the cluster does not let us change stays and is reported.",
    )
    .answers(StatusCode::OK, Answer::json::<OtherBindingsReport>("What was removed, and what is left, by cluster."))
    .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Whose { user }): Asked<Whose>,
    asker: Asker,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let look = services.look(&asker)?;
    Ok(Json(look.remove_other_bindings(&caller, (&project, &cloud), user.as_ref(), asker.reader()).await?))
}
