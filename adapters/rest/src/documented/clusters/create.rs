//! `POST /v2/cluster-providers/{provider}/clusters`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use dcm_core::name::{ClusterId, ClusterName};
use dcm_core::refusal::Rule as _;
use dcm_core::service::{self, EditOutcome, Error, Registration};

use super::{Looking, answer, must_be_ready};
use crate::access::Asker;
use crate::documented::body::Body;
use crate::documented::objects::{ClusterAnswer, ClusterBody};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, OfProvider};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{Unconditional, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Register a cluster",
        "It is looked at before, as by a check. What names programs or files in its kubeconfig is refused. A warning names an address that \
         users hardly reach, and what is not used of the kubeconfig.",
    )
    .requires(&["metadata.name", "spec.kubeconfig"])
    .answers(StatusCode::CREATED, Answer::json::<ClusterAnswer>("The cluster.").tagged().located().warned())
    .fails(&[Kind::NotFound, Kind::AlreadyThere, Kind::InUse, Kind::WrongState, Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    asker: Asker,
    At(OfProvider { provider }): At<OfProvider>,
    Asked(looking): Asked<Looking>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
    Body { read, .. }: Body<ClusterBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_no_name(read.name())?;
    let cluster =
        ClusterName::new(read.name()).map_err(|invalid| Problem::field("metadata.name", invalid.rule()))?;
    let kubeconfig = read.kubeconfig().ok_or_else(|| Problem::field("spec.kubeconfig", "is missing"))?;
    services.providers.get(&provider).await?;
    let id = ClusterId { provider, cluster };
    let registration = read.onto(Registration::new(id.clone(), kubeconfig))?;
    // What is refused is refused before anything is sent.
    services
        .registered
        .check(&registration)
        .map_err(|error| Problem::from(error).of_fields(ClusterBody::field))?;
    let there = |is_same| {
        let error = Error::AlreadyThere { kind: service::Kind::Cluster, name: id.to_string() };
        Problem::from(error).of_the_same(is_same)
    };
    match services.registered.get(&id).await {
        Ok(found) => return Err(there(found.registration == registration)),
        Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let uid = match looking.unchecked {
        true => None,
        false => must_be_ready(&services, &asker, &registration, looking.level).await?,
    };
    let (made, outcome) = services.registered.add_seen(&caller, registration, uid.as_ref()).await?;
    if outcome == EditOutcome::Unchanged {
        return Err(there(true));
    }
    let location = format!("/v2/cluster-providers/{}/clusters/{}", id.provider, id.cluster);
    let headers = [etag(&made.revision), (LOCATION, location.parse().map_err(|_| Problem::unexpected())?)];
    let warnings = warnings::headers(made.registration.warnings());
    Ok((StatusCode::CREATED, warnings, headers, Json(answer(&services, &asker, made).await?)))
}
