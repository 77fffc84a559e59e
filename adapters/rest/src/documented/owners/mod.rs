//! Projects, which own logical clouds, and cluster providers, which own registered clusters.

mod create;
mod delete;
mod get;
mod list;
mod put;

use dcm_core::service::{OfClouds, OfClusters, Owner, OwnerKind, Owners};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::objects::{NamedBody, field_of_metadata};
use super::openapi::{self, Described};
use super::place::{InProject, OfProvider};
use super::problem::Problem;
use crate::access::{Asker, Need};
use crate::services::Services;

/// A kind of owners that is served.
pub(super) trait Served: OwnerKind<Name: DeserializeOwned + JsonSchema + AsRef<str> + Sync> {
    /// One and several of them, in words.
    const ONE: &'static str;
    const MANY: &'static str;
    /// What the segment of a path is called that names one.
    const SEGMENT: &'static str;
    /// What it needs to see one.
    const SEE: Need;
    /// What it needs to make, change or delete one.
    const CHANGE: Need;

    /// What the path of one names.
    type Place: DeserializeOwned + JsonSchema + Into<Self::Name> + Send + 'static;

    /// The only ones that somebody may see, in the order of their names; none for whoever sees all.
    fn only(_: &Asker) -> Option<Vec<Self::Name>> {
        None
    }

    /// Their services.
    fn owners(services: &Services) -> &Owners<Self>;
}

impl Served for OfClouds {
    const ONE: &'static str = "a project";
    const MANY: &'static str = "projects";
    const SEGMENT: &'static str = "project";
    const SEE: Need = Need::View;
    const CHANGE: Need = Need::Platform;

    type Place = InProject;

    fn only(asker: &Asker) -> Option<Vec<Self::Name>> {
        asker.rights.only_projects()
    }

    fn owners(services: &Services) -> &Owners<Self> {
        &services.projects
    }
}

impl Served for OfClusters {
    const ONE: &'static str = "a cluster provider";
    const MANY: &'static str = "cluster providers";
    const SEGMENT: &'static str = "provider";
    const SEE: Need = Need::AnyRole;
    const CHANGE: Need = Need::Clusters;

    type Place = OfProvider;

    fn owners(services: &Services) -> &Owners<Self> {
        &services.providers
    }
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

fn body<K: OwnerKind>(owner: Owner<K>) -> NamedBody {
    NamedBody { metadata: owner.metadata.into() }
}

/// An error about an owner that was sent.
fn refused(error: dcm_core::service::Error) -> Problem {
    Problem::from(error).of_fields(field_of_metadata)
}
