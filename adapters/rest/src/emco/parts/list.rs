//! `GET`: the parts of one kind; none where there is no such logical cloud.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::{Described, Error};

use super::Part;
use crate::emco::answer::{Answer, or_null};
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Option<Vec<P>>>, Problem> {
    let Ok((project, cloud)) = names.cloud() else { return Ok(Answer(StatusCode::OK, None)) };
    match services.clouds.get(&project, &cloud).await {
        Ok(Described { cloud, .. }) => {
            let parts = P::all(&cloud).iter().map(|part| P::of(part, &cloud)).collect();
            Ok(Answer(StatusCode::OK, or_null(parts)))
        }
        Err(Error::NotFound { .. }) => Ok(Answer(StatusCode::OK, None)),
        Err(error) => Err(error.into()),
    }
}
