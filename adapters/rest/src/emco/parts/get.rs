//! `GET`: one part.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Error;

use super::{Part, find};
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<P>, Problem> {
    let missing = || Problem::missing(P::KIND);
    let (project, cloud) = names.cloud().map_err(|_| missing())?;
    match services.clouds.get(&project, &cloud).await {
        Ok(found) => Ok(Answer(StatusCode::OK, find(&found.cloud, &names)?)),
        Err(Error::NotFound { .. }) => Err(missing()),
        Err(error) => Err(error.into()),
    }
}
