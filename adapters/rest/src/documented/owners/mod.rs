//! Projects, which own logical clouds, and cluster providers, which own registered clusters.

mod create;
mod delete;
mod get;
mod list;
mod put;

use axum::http::Method;
use dcm_core::service::{OfClouds, OfClusters, Owner, OwnerKind, Owners};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::objects::{NamedBody, field_of_metadata};
use super::problem::Problem;
use super::route::Route;
use crate::access::{Asker, Need};
use crate::services::Services;

/// A kind of owners that is served.
pub(super) trait Served: OwnerKind<Name: DeserializeOwned + AsRef<str> + Sync> {
    /// What the segment of a path is called that names one.
    const SEGMENT: &'static str;
    /// What it needs to see one.
    const SEE: Need;
    /// What it needs to make, change or delete one.
    const CHANGE: Need;

    /// The only ones that somebody may see, in the order of their names; none for whoever sees all.
    fn only(_: &Asker) -> Option<Vec<Self::Name>> {
        None
    }

    /// Their services.
    fn owners(services: &Services) -> &Owners<Self>;
}

impl Served for OfClouds {
    const SEGMENT: &'static str = "project";
    const SEE: Need = Need::View;
    const CHANGE: Need = Need::Platform;

    fn only(asker: &Asker) -> Option<Vec<Self::Name>> {
        asker.rights.only_projects()
    }

    fn owners(services: &Services) -> &Owners<Self> {
        &services.projects
    }
}

impl Served for OfClusters {
    const SEGMENT: &'static str = "provider";
    const SEE: Need = Need::AnyRole;
    const CHANGE: Need = Need::Clusters;

    fn owners(services: &Services) -> &Owners<Self> {
        &services.providers
    }
}

/// The path of an owner: `{project}` or `{provider}`, whose routes go on below it.
#[derive(Deserialize)]
struct Named<Name> {
    #[serde(alias = "project", alias = "provider")]
    owner: Name,
}

/// The routes of a kind.
pub(super) fn routes<K: Served>(collection: &str) -> Vec<Route> {
    let one = format!("{collection}/{{{}}}", K::SEGMENT);
    vec![
        Route::new(Method::GET, collection, Need::AnyRole, list::handle::<K>),
        Route::new(Method::POST, collection, K::CHANGE, create::handle::<K>),
        Route::new(Method::GET, &one, K::SEE, get::handle::<K>),
        Route::new(Method::PUT, &one, K::CHANGE, put::handle::<K>),
        Route::new(Method::DELETE, &one, K::CHANGE, delete::handle::<K>),
    ]
}

fn body<K: OwnerKind>(owner: Owner<K>) -> NamedBody {
    NamedBody { metadata: owner.metadata.into() }
}

/// An error about an owner that was sent.
fn refused(error: dcm_core::service::Error) -> Problem {
    Problem::from(error).of_fields(field_of_metadata)
}
