//! Projects, which own logical clouds.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod put;

use dcm_core::service::Project;

use super::objects::{ProjectBody, field_of_metadata};
use super::problem::Problem;

fn body(project: Project) -> ProjectBody {
    ProjectBody { metadata: project.metadata.into() }
}

/// An error about a project that was sent.
fn refused(error: dcm_core::service::Error) -> Problem {
    Problem::from(error).of_fields(field_of_metadata)
}
