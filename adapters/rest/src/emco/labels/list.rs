//! `GET …/clusters/{cluster}/labels`

use axum::extract::State;
use axum::http::StatusCode;

use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::Label;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Vec<Label>>, Problem> {
    let found = services.registered.get(&names.cluster()?).await?.registration;
    Ok(Answer(StatusCode::OK, Label::all(&found.labels)))
}
