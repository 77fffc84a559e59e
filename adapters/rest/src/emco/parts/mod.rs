//! User permissions, quotas and key-value pairs of a logical cloud: each kind is a collection.

mod create;
mod delete;
mod get;
mod list;

use std::str::FromStr;

use axum::http::Method;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::service::{Kind, PartDraft, PartName};
use serde::Serialize;

use super::body::Document;
use super::names::Names;
use super::objects::{Metadata, field_of_part};
use super::problem::Problem;
use crate::access::Need;
use crate::named::{self, Named};
use crate::route::Route;

/// A kind of parts of logical clouds.
pub(super) trait Part: Document + Serialize + Send + Sync + 'static {
    /// What names one.
    type Name: FromStr + AsRef<str> + Send + Sync;
    /// What one is in the model.
    type Model: Named;
    /// What one is, in messages.
    const KIND: Kind;
    /// What the segment of a path is called that names one.
    const SEGMENT: &'static str;
    /// True when there is none in a logical cloud without a namespace of its own.
    const NEEDS_NAMESPACE: bool = false;

    /// What is said where there is no logical cloud to make one in.
    fn no_cloud() -> Problem {
        Problem::no_parent()
    }

    /// Name and notes.
    fn metadata(&self) -> &Metadata;

    /// What the model calls it.
    fn into_draft(self) -> PartDraft;

    /// The same for a name.
    fn part_name(name: Self::Name) -> PartName;

    /// Those that a logical cloud has, in the order of their names.
    fn all(cloud: &LogicalCloud) -> &[Self::Model];

    /// One of them as a document.
    fn of(part: &Self::Model, cloud: &LogicalCloud) -> Self;

    /// Where the document has what a draft has at a path.
    fn field(path: &str) -> String {
        field_of_part(path, |field| field)
    }
}

/// The routes of a collection. EMCO has none to change a part.
pub(super) fn routes<P: Part>(collection: &str) -> Vec<Route> {
    let one = format!("{collection}/{{{}}}", P::SEGMENT);
    vec![
        Route::new(Method::GET, collection, Need::View, list::handle::<P>),
        Route::new(Method::POST, collection, Need::Change, create::handle::<P>),
        Route::new(Method::GET, &one, Need::View, get::handle::<P>),
        Route::new(Method::DELETE, &one, Need::Change, delete::handle::<P>),
    ]
}

/// The part of a logical cloud that a path names.
fn find<P: Part>(cloud: &LogicalCloud, names: &Names) -> Result<P, Problem> {
    find_named(cloud, names.text(P::SEGMENT))
}

fn find_named<P: Part>(cloud: &LogicalCloud, name: &str) -> Result<P, Problem> {
    let part = named::find(P::all(cloud), name).ok_or_else(|| Problem::missing(P::KIND))?;
    Ok(P::of(part, cloud))
}
