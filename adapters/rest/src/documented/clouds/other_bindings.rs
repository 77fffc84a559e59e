//! `GET /v2/projects/{project}/logical-clouds/{cloud}/other-bindings`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::name::UserName;
use dcm_core::service::OtherBindingsReport;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;

/// The identities that are looked for.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct Whose {
    /// The user whose identities they are. Default: all users.
    pub(super) user: Option<UserName>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Read the bindings of other clients",
        "RoleBindings and ClusterRoleBindings that other clients made, and that name an identity of the logical cloud without rights of \
         ours: one of a revoked user, or any of a terminated logical cloud. They still give rights. All namespaces of each cluster are \
         searched.",
    )
    .answers(StatusCode::OK, Answer::json::<OtherBindingsReport>("The bindings, by cluster."))
    .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Whose { user }): Asked<Whose>,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    let lapsed = services.clouds.lapsed(&project, &cloud, user.as_ref()).await?;
    let others = services.look(&asker)?.other_bindings(&lapsed).await;
    Ok(Json(OtherBindingsReport::of(others, asker.reader())))
}
