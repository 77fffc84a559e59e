//! `DELETE /v2/projects/{project}/logical-clouds/{cloud}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dcm_core::logical_cloud::limits::{DEADLINE_SECONDS_MAX, DEADLINE_SECONDS_MIN};
use dcm_core::service::{Departure, EditId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::accepted;
use super::removal::How;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::request::Asking;

/// Whether it is taken off its clusters before, and how.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct Leaving {
    /// It is taken off its clusters before.
    #[serde(default)]
    terminate: bool,
    /// Deletes namespaces together with what others put in them; only with `terminate`.
    #[serde(default)]
    delete_contents: bool,
    /// In namespaces that are kept, deletes the RoleBindings of other clients; only with `terminate`.
    #[serde(default)]
    remove_others_bindings: bool,
    /// Leaves all its objects there, without our marks, but for bindings; only with `terminate`, and without `delete-contents`.
    keep_objects: Option<bool>,
    /// How long each cluster may take; only with `terminate`.
    #[schemars(range(min = DEADLINE_SECONDS_MIN, max = DEADLINE_SECONDS_MAX))]
    deadline_seconds: Option<i64>,
}

impl Leaving {
    /// How it is taken off; none where it is not.
    fn how(self) -> Result<Option<How>, Problem> {
        let Self { terminate, delete_contents, remove_others_bindings, keep_objects, deadline_seconds } =
            self;
        let has_flags = delete_contents || remove_others_bindings;
        let is_said = has_flags || keep_objects.is_some() || deadline_seconds.is_some();
        match (terminate, is_said) {
            (true, _) => {
                Ok(Some(How { delete_contents, remove_others_bindings, keep_objects, deadline_seconds }))
            }
            (false, false) => Ok(None),
            (false, true) => {
                Err(Problem::new(Kind::Malformed, "how it is terminated says nothing without terminate=true"))
            }
        }
    }
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Delete a logical cloud",
        "It is refused while the cloud is on clusters. With `terminate` it is taken off them first, and deleted when it is off; applied \
         again before, it stays.",
    )
    .answers(StatusCode::NO_CONTENT, Answer::empty("It is deleted."))
    .answers(StatusCode::ACCEPTED, Answer::empty("It is taken off its clusters, and then deleted.").located())
    .fails(&[Kind::WrongState, Kind::InUse])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(leaving): Asked<Leaving>,
    Asking(caller): Asking,
    when: If<EditId>,
) -> Result<Response, Problem> {
    let InCloud { project, cloud } = &place;
    let departure = match leaving.how()? {
        None => {
            let deleted = services.clouds.delete_if(&caller, project, cloud, &when.condition).await;
            deleted.map(|()| Departure::Deleted)
        }
        Some(how) => {
            let removal = how.removal()?;
            services.clouds.delete_when_off(&caller, project, cloud, removal, &when.condition).await
        }
    };
    match departure.map_err(|error| when.told(error.into()))? {
        Departure::Deleted => Ok(StatusCode::NO_CONTENT.into_response()),
        Departure::Leaving => Ok(accepted(&place)?.into_response()),
    }
}
