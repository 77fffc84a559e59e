//! The parts of a logical cloud: each kind is a collection.

mod create;
mod delete;
mod get;
mod list;
mod put;

use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::service::Error;

use super::objects::{Object, Part};
use super::openapi::{self, Described};
use super::problem::Problem;
use crate::access::Need;
use crate::named;

/// The routes of a collection.
pub(super) fn routes<P: Part>(collection: &str) -> Vec<Described> {
    let one = format!("{collection}/{{name}}");
    vec![
        openapi::get(collection, Need::View, list::handle::<P>, list::describe::<P>),
        openapi::post(collection, Need::Change, create::handle::<P>, create::describe::<P>),
        openapi::get(&one, Need::View, get::handle::<P>, get::describe::<P>),
        openapi::put(&one, Need::Change, put::handle::<P>, put::describe::<P>),
        openapi::delete(&one, Need::Change, delete::handle::<P>, delete::describe::<P>),
    ]
}

/// One part of a logical cloud.
fn find<P: Part>(cloud: &LogicalCloud, name: &str) -> Result<Object<P>, Problem> {
    named::find(P::all(cloud), name).map(P::object).ok_or_else(|| missing::<P>(name).into())
}

fn missing<P: Part>(name: &str) -> Error {
    Error::NotFound { kind: P::KIND, name: name.to_owned(), project: None }
}
