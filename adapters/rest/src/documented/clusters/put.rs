//! `PUT /v2/cluster-providers/{provider}/clusters/{cluster}`: changes what is registered, also while logical clouds are there.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::Revision;

use super::{Looking, OneCluster, answer, must_be_ready};
use crate::access::Asker;
use crate::documented::body::Body;
use crate::documented::objects::{ClusterAnswer, ClusterBody};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Change what is registered of a cluster",
        "Also while logical clouds are there. `metadata`, `kubeconfig`, `userEndpoint`, `labels` and `namespace` are replaced where they are \
         named. A new kubeconfig is looked at before. Warnings as of a registration.",
    )
    .answers(StatusCode::OK, Answer::json::<ClusterAnswer>("The cluster.").tagged().warned())
    .fails(&[Kind::NameMismatch, Kind::WrongState, Kind::InUse, Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    asker: Asker,
    At(cluster): At<OneCluster>,
    Asked(looking): Asked<Looking>,
    Asking(caller): Asking,
    when: If<Revision>,
    Body { read, .. }: Body<ClusterBody>,
) -> Result<impl IntoResponse, Problem> {
    let id = cluster.id();
    Problem::of_names(read.name(), id.cluster.as_str())?;
    let refused =
        |error: dcm_core::service::Error| when.told(Problem::from(error).of_fields(ClusterBody::field));
    let old = services.registered.get(&id).await.map_err(refused)?.registration;
    let new = read.onto(old.clone())?;
    services
        .registered
        .check_change(&new, Some(&old))
        .map_err(|error| Problem::from(error).of_fields(ClusterBody::field))?;
    let uid = match new.kubeconfig != old.kubeconfig && !looking.unchecked {
        true => must_be_ready(&services, &asker, &new, looking.level).await?,
        false => None,
    };
    // It was read above without a refusal, and nothing in it depends on what is registered.
    let next = |old: dcm_core::service::Registration| read.onto(old.clone()).unwrap_or(old);
    let put = services.registered.edit_seen(&caller, &id, &when.condition, uid.as_ref(), next).await;
    let (put, _) = put.map_err(refused)?;
    let warnings = warnings::headers(put.registration.warnings());
    Ok((warnings, [etag(&put.revision)], Json(answer(&services, &asker, put).await?)))
}
