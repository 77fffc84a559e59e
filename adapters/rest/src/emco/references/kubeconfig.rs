//! `GET …/cluster-references/{clusterReference}/kubeconfig`: the first user's.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use dcm_core::name::ReferenceName;
use dcm_core::service::{Kind, UserAccess};

use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::named;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    method: Method,
) -> Result<impl IntoResponse, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    let found = clouds.get(&project, &cloud).await?.cloud;
    let reference: ReferenceName = names.one("clusterReference", Kind::Reference)?;
    if named::find(found.references(), reference.as_str()).is_none() {
        return Err(Problem::missing(Kind::Reference));
    }
    let no_user = || Problem::conflict("Error getting private key from logical cloud");
    let user = &found.users().first().ok_or_else(no_user)?.metadata.name;
    let given = services.hand_out(&method, &caller, (&project, &cloud), Some(user), Some(&reference)).await?;
    let UserAccess { access, .. } = given;
    let kubeconfig = access.for_cluster_as_emco(&reference).ok_or_else(Problem::internal)?;
    let text = kubeconfig.to_yaml().map_err(|_| Problem::internal())?;
    services.remember_handed_out(&method, &caller, &access).await;
    let headers = [(CONTENT_TYPE, "application/yaml"), (CACHE_CONTROL, "no-store")];
    Ok((StatusCode::OK, headers, text.expose().to_owned()))
}
