//! `GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/credential`: the newest one, as clients of Kubernetes take it from a
//! plugin.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use dcm_core::kubeconfig::ExecCredential;
use dcm_core::name::{ReferenceName, UserName};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, OfPart};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::request::Asking;

/// For which cluster.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct Wanted {
    /// The cluster reference.
    cluster_reference: ReferenceName,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Hand out a user's credential to a client",
        "As a client of Kubernetes takes it from a plugin (`client.authentication.k8s.io/v1`), until it is to be renewed. A user who keeps the \
         private key has none.",
    )
    .answers(StatusCode::OK, Answer::json::<ExecCredential>("The newest credential."))
    .fails(&[Kind::WrongState, Kind::NotIssued])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<UserName>>,
    Asked(Wanted { cluster_reference }): Asked<Wanted>,
    Asking(caller): Asking,
    method: Method,
) -> Result<impl IntoResponse, Problem> {
    let (clouds, reference) = (&services.clouds, &cluster_reference);
    let said = match method {
        // A caller that asks for the head alone is given nothing.
        Method::HEAD => clouds.exec_credential(&project, &cloud, &name, reference).await?,
        _ => clouds.hand_out_credential(&caller, &project, &cloud, &name, reference).await?,
    };
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    Ok((headers, said.expose().to_owned()))
}
