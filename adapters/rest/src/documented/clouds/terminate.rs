//! `POST /v2/projects/{project}/logical-clouds/{cloud}/terminate`

use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::limits::{DEADLINE_SECONDS_MAX, DEADLINE_SECONDS_MIN};
use dcm_core::port::synchronizer::{Disposal, Removal};
use serde::Deserialize;

use super::accepted;
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// How it is taken off. What is not said is as its document says.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// Deletes namespaces together with what others put in them.
    #[serde(default)]
    delete_contents: bool,
    /// Leaves all its objects there, without our marks.
    keep_objects: Option<bool>,
    /// How long each cluster may take.
    deadline_seconds: Option<i64>,
}

impl How {
    fn removal(&self) -> Result<Removal, Problem> {
        let malformed = |detail: &str| Err(Problem::new(Kind::Malformed, detail));
        if self.delete_contents && self.keep_objects == Some(true) {
            return malformed("say delete-contents or keep-objects, not both");
        }
        let legal = DEADLINE_SECONDS_MIN..=DEADLINE_SECONDS_MAX;
        if self.deadline_seconds.is_some_and(|seconds| !legal.contains(&seconds)) {
            let (least, most) = legal.into_inner();
            return malformed(&format!("deadline-seconds must be from {least} to {most}"));
        }
        let disposal = |keep| if keep { Disposal::Keep } else { Disposal::Delete };
        Ok(Removal {
            delete_contents: self.delete_contents,
            objects: self.keep_objects.map(disposal),
            deadline_seconds: self.deadline_seconds.and_then(|seconds| u32::try_from(seconds).ok()),
        })
    }
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    services.clouds.terminate(&caller, &place.project, &place.cloud, how.removal()?).await?;
    accepted(&place)
}
