//! `GET …/clusters/{cluster}/labels/{clusterLabel}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Kind;

use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::Label;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Label>, Problem> {
    let found = services.registered.get(&names.cluster()?).await?.registration;
    let label = names.text("clusterLabel");
    match found.labels.contains_key(label) {
        true => Ok(Answer(StatusCode::OK, Label { cluster_label: label.to_owned() })),
        false => Err(Problem::missing(Kind::ClusterLabel)),
    }
}
