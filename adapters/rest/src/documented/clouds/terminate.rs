//! `POST /v2/projects/{project}/logical-clouds/{cloud}/terminate`

use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::port::synchronizer::{Disposal, Removal};
use serde::Deserialize;

use super::accepted;
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::request::Asking;

/// How it is taken off. What is not said is as its document says.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// Deletes namespaces together with what others put in them.
    #[serde(default)]
    delete_contents: bool,
    /// Leaves all its objects there, without our marks.
    #[serde(default)]
    keep_objects: bool,
    /// How long each cluster may take.
    deadline_seconds: Option<u32>,
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    Asking(caller): Asking,
) -> Result<impl IntoResponse, Problem> {
    let removal = Removal {
        delete_contents: how.delete_contents,
        objects: how.keep_objects.then_some(Disposal::Keep),
        deadline_seconds: how.deadline_seconds,
    };
    services.clouds.terminate(&caller, &place.project, &place.cloud, removal).await?;
    accepted(&place)
}
