//! `GET /v2/cluster-providers/{clusterProvider}/clusters/{cluster}`: the document, for who says that JSON is accepted.

use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};

use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::Cluster;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    headers: HeaderMap,
) -> Result<Answer<Cluster>, Problem> {
    let accepted = accepted(&headers)?;
    let found = services.registered.get(&names.cluster()?).await?;
    match &*accepted {
        "application/json" => Ok(Answer(StatusCode::OK, found.registration.into())),
        // It is a secret of whoever registered the cluster.
        "application/octet-stream" | "multipart/form-data" => Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "the kubeconfig of a cluster is never answered, set Accept: application/json",
        )),
        _ => Err(Problem::new(
            StatusCode::MULTIPLE_CHOICES,
            "set Accept: multipart/form-data, application/json or application/octet-stream",
        )),
    }
}

/// The media type that is accepted.
fn accepted(headers: &HeaderMap) -> Result<String, Problem> {
    let value = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    match essence {
        "" => Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "mime: no media type")),
        // Go reads one type alone.
        list if list.contains(',') => {
            Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "mime: unexpected content after media type"))
        }
        essence => Ok(essence.to_ascii_lowercase()),
    }
}
