//! The parts of a logical cloud: each kind is a collection.

mod create;
mod delete;
mod get;
mod list;
mod put;

use axum::http::Method;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::service::Error;

use super::objects::{Object, Part};
use super::problem::Problem;
use super::route::Route;
use crate::access::Need;

/// The routes of a collection.
pub(super) fn routes<P: Part>(collection: &str) -> Vec<Route> {
    let one = format!("{collection}/{{name}}");
    vec![
        Route::new(Method::GET, collection, Need::View, list::handle::<P>),
        Route::new(Method::POST, collection, Need::Change, create::handle::<P>),
        Route::new(Method::GET, &one, Need::View, get::handle::<P>),
        Route::new(Method::PUT, &one, Need::Change, put::handle::<P>),
        Route::new(Method::DELETE, &one, Need::Change, delete::handle::<P>),
    ]
}

/// One part of a logical cloud.
fn find<P: Part>(cloud: &LogicalCloud, name: &str) -> Result<Object<P>, Problem> {
    let found = P::objects(cloud).into_iter().find(|object| object.metadata.name == name);
    found.ok_or_else(|| missing::<P>(name).into())
}

fn missing<P: Part>(name: &str) -> Error {
    Error::NotFound { kind: P::KIND, name: name.to_owned(), project: None }
}
