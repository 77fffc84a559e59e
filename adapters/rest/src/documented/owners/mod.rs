//! Projects, which own logical clouds, and cluster providers, which own registered clusters.

mod create;
mod delete;
mod get;
mod list;
mod put;

use dcm_core::service::{OfClouds, OfClusters, Owner};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::objects::{NamedBody, field_of_metadata};
use super::openapi::{self, Described};
use super::place::{InProject, OfProvider};
use super::problem::Problem;
use crate::access::Need;
use crate::owners::Kept;

/// A kind of owners that is served.
pub(super) trait Served: Kept<Name: DeserializeOwned + JsonSchema + AsRef<str> + Sync> {
    /// One and several of them, in words.
    const ONE: &'static str;
    const MANY: &'static str;
    /// What the segment of a path is called that names one.
    const SEGMENT: &'static str;

    /// What the path of one names.
    type Place: DeserializeOwned + JsonSchema + Into<Self::Name> + Send + 'static;
}

impl Served for OfClouds {
    const ONE: &'static str = "a project";
    const MANY: &'static str = "projects";
    const SEGMENT: &'static str = "project";

    type Place = InProject;
}

impl Served for OfClusters {
    const ONE: &'static str = "a cluster provider";
    const MANY: &'static str = "cluster providers";
    const SEGMENT: &'static str = "provider";

    type Place = OfProvider;
}

/// The routes of a kind.
pub(super) fn routes<K: Served>(collection: &str) -> Vec<Described> {
    let one = format!("{collection}/{{{}}}", K::SEGMENT);
    vec![
        openapi::get(collection, Need::AnyRole, list::handle::<K>, list::describe::<K>),
        openapi::post(collection, K::CHANGE, create::handle::<K>, create::describe::<K>),
        openapi::get(&one, K::SEE, get::handle::<K>, get::describe::<K>),
        openapi::put(&one, K::CHANGE, put::handle::<K>, put::describe::<K>),
        openapi::delete(&one, K::CHANGE, delete::handle::<K>, delete::describe::<K>),
    ]
}

fn body<K: Kept>(owner: Owner<K>) -> NamedBody {
    NamedBody { metadata: owner.metadata.into() }
}

/// An error about an owner that was sent.
fn refused(error: dcm_core::service::Error) -> Problem {
    Problem::from(error).of_fields(field_of_metadata)
}
