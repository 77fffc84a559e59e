//! Projects, which own logical clouds, and cluster providers, which own clusters.

mod create;
mod delete;
mod get;
mod list;
mod put;

use axum::http::{Method, StatusCode};
use dcm_core::service::{Error, OfClouds, OfClusters, Owner};

use super::names::Names;
use super::objects::{Metadata, Named};
use super::problem::Problem;
use crate::access::Need;
use crate::owners::Kept;
use crate::route::Route;

/// A kind of owners that is served.
pub(super) trait Served: Kept<Name: Sync> {
    /// What the segment of a path is called that names one.
    const SEGMENT: &'static str;
    /// The status of an answer when one was put.
    const PUT_STATUS: StatusCode;
    /// True when what is put is held against the schema before its name is looked at.
    const PUT_IS_CHECKED: bool;
    /// True when an empty list is `null`.
    const EMPTY_IS_NULL: bool;

    /// The one that a path names.
    fn named(names: &Names) -> Result<Self::Name, Problem>;

    /// An error about what was to be deleted.
    fn refused_deletion(error: Error) -> Problem;
}

impl Served for OfClouds {
    const SEGMENT: &'static str = "project";
    const PUT_STATUS: StatusCode = StatusCode::OK;
    const PUT_IS_CHECKED: bool = false;
    const EMPTY_IS_NULL: bool = true;

    fn named(names: &Names) -> Result<Self::Name, Problem> {
        names.project()
    }

    /// EMCO looks first whether it is there.
    fn refused_deletion(error: Error) -> Problem {
        error.into()
    }
}

impl Served for OfClusters {
    const SEGMENT: &'static str = "clusterProvider";
    const PUT_STATUS: StatusCode = StatusCode::CREATED;
    const PUT_IS_CHECKED: bool = true;
    const EMPTY_IS_NULL: bool = false;

    fn named(names: &Names) -> Result<Self::Name, Problem> {
        names.provider()
    }

    fn refused_deletion(error: Error) -> Problem {
        Problem::of_deletion(error)
    }
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

fn body<K: Kept>(owner: Owner<K>) -> Named {
    Named { metadata: Metadata::of(owner.metadata) }
}
