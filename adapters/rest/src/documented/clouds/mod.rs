//! Logical clouds: their own documents, and what is done with them.

pub(super) mod apply;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod events;
pub(super) mod get;
pub(super) mod get_document;
pub(super) mod kubeconfig;
pub(super) mod list;
pub(super) mod other_bindings;
pub(super) mod plan;
pub(super) mod plan_document;
pub(super) mod put;
pub(super) mod put_document;
pub(super) mod reconcile;
pub(super) mod remove_other_bindings;
pub(super) mod renew;
pub(super) mod resume;
pub(super) mod service_mesh;
pub(super) mod status;
pub(super) mod stop;
pub(super) mod terminate;

mod notation;
mod removal;
pub(super) mod text;

use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue, LOCATION};

use super::place::InCloud;
use super::problem::Problem;

/// The answer to what goes on behind it: accepted, and where to see how far it is.
fn accepted(
    InCloud { project, cloud }: &InCloud,
) -> Result<(StatusCode, [(HeaderName, HeaderValue); 1]), Problem> {
    let status = format!("/v2/projects/{project}/logical-clouds/{cloud}/status");
    let location = status.parse().map_err(|_| Problem::unexpected())?;
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)]))
}
