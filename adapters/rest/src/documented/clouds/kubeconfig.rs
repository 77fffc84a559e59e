//! `GET /v2/projects/{project}/logical-clouds/{cloud}/kubeconfig`

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::IntoResponse;
use dcm_core::kubeconfig::{Access, Kubeconfig};
use dcm_core::name::{ReferenceName, UserName};
use dcm_core::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::notation::Notation;
use super::notation::YAML_TYPES;
use crate::documented::openapi::Shape;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::warnings;
use crate::request::Asking;

/// Whose, and for which clusters.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct Wanted {
    /// One cluster reference; default: one file for all clusters.
    cluster_reference: Option<ReferenceName>,
    /// The user; may be left out where there is only one.
    user: Option<UserName>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let kubeconfig = "The kubeconfig. What is left out of it, and why, is in warnings, as are addresses that users hardly reach.";
    let answer =
        Answer::json::<Kubeconfig>(kubeconfig).with(YAML_TYPES[0], Shape::of::<Kubeconfig>()).warned();
    it.says(
        "Hand out a kubeconfig",
        "For one cluster, or one file for all of them. It is YAML for who accepts that and does not accept JSON before it.",
    )
    .answers(StatusCode::CREATED, answer)
    .fails(&[Kind::UserNotNamed, Kind::WrongState, Kind::NotIssued])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(wanted): Asked<Wanted>,
    Asking(caller): Asking,
    method: Method,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let (user, reference) = (wanted.user.as_ref(), wanted.cluster_reference.as_ref());
    let found = services.hand_out(&method, &caller, (&project, &cloud), user, reference).await?;
    let notation = Notation::accepted(&headers);
    let text = write(&found.access, reference, notation)?;
    services.remember_handed_out(&method, &caller, &found.access).await;
    let headers = [(CONTENT_TYPE, notation.content_type()), (CACHE_CONTROL, "no-store"), (VARY, "accept")];
    Ok((
        StatusCode::CREATED,
        headers,
        warnings::headers(found.left_out().chain(found.access.warnings())),
        text.expose().to_owned(),
    ))
}

fn write(access: &Access, reference: Option<&ReferenceName>, notation: Notation) -> Result<Secret, Problem> {
    let kubeconfig = match reference {
        // The service gives nothing only with the reason, as an error.
        Some(reference) => access.for_cluster(reference).ok_or_else(Problem::unexpected)?,
        None => access.for_all_clusters(),
    };
    let write = match notation {
        Notation::Json => Kubeconfig::to_json,
        Notation::Yaml => Kubeconfig::to_yaml,
    };
    write(&kubeconfig).map_err(|_| Problem::unexpected())
}
