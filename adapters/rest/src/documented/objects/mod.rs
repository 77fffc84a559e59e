//! Bodies of requests and answers of this dialect, and their conversion to and from what the model takes and gives.
//!
//! Field names are those of the documented dialect; what the model knows beyond it has the names of the declarative document.

mod cluster;
mod cluster_reference;
mod controller;
mod key_values;
mod logical_cloud;
mod named;
mod quota;
mod user;
mod user_permission;

pub(super) use cluster::{ClusterAnswer, ClusterBody};
pub(super) use cluster_reference::{Cluster, ReferenceSpec};
pub(super) use controller::ControllerBody;
pub(super) use key_values::KeyValuesSpec;
pub(super) use logical_cloud::{LogicalCloudBody, Put, Summary};
pub(super) use named::NamedBody;
pub(super) use quota::QuotaSpec;
pub(super) use user::UserSpec;
pub(super) use user_permission::PermissionSpec;

use axum::http::StatusCode;
use dcm_core::logical_cloud::{LogicalCloud, MetadataDraft};
use dcm_core::service::{Kind, PartDraft, PartName};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::Shaped;
use super::openapi::{Rules, Shape};
use super::problem::Problem;
use crate::named::Named;

/// Names and notes have the same rules everywhere.
const METADATA: (&str, &str) = ("/properties/metadata", "/properties/metadata");

/// A name with notes, and what it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "{Spec}")]
pub(super) struct Object<Spec> {
    /// Name and notes.
    #[serde(default)]
    pub(super) metadata: MetadataDraft,
    /// What it is.
    pub(super) spec: Spec,
}

/// What a change of a part is answered with.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer<P> {
    /// The part as it is now.
    Object(Object<P>),
    /// The cluster of a reference alone.
    Cluster(Cluster),
}

/// The specification of a kind of parts of logical clouds: each kind is a collection.
pub(super) trait Part:
    Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// What names one.
    type Name: Clone + AsRef<str> + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// What one is in the model.
    type Model: Named;
    /// What one is, in messages.
    const KIND: Kind;
    /// One and several of them, in words.
    const ONE: &'static str;
    const MANY: &'static str;
    /// Which rules of the model its documented schema has.
    const RULES: Rules;
    /// What there is to know about taking one away.
    const DELETION: &'static str = "No cluster is touched before the next apply.";
    /// The status of an answer when one was made.
    const CREATED: StatusCode = StatusCode::CREATED;
    /// The status of an answer when one was put.
    const REPLACED: StatusCode = StatusCode::OK;

    /// The schema of the whole object.
    fn schema() -> &'static Value;

    /// What the model calls it.
    fn into_draft(object: Object<Self>) -> Result<PartDraft, Problem>;

    /// The same for a name.
    fn part_name(name: Self::Name) -> PartName;

    /// Those that a logical cloud has, in the order of their names.
    fn all(cloud: &LogicalCloud) -> &[Self::Model];

    /// One of them as an object.
    fn object(part: &Self::Model) -> Object<Self>;

    /// Where the object that was sent has what a draft has at a path; empty for what it does not have.
    fn field(_sent: &Value, path: &str) -> String {
        field_of_part(path, |_| None)
    }

    /// The answer when one was made.
    fn made(made: Object<Self>) -> Answer<Self> {
        Answer::Object(made)
    }

    /// The shape of the answer when one was made.
    fn made_as() -> Shape {
        Shape::of::<Object<Self>>()
    }

    /// Those that may be deleted by this name, although it is none of theirs.
    fn aliased(_: &LogicalCloud, _: &Self::Name) -> Vec<Self::Name> {
        Vec::new()
    }
}

impl<P: Part> Shaped for Object<P> {
    const RULES: Rules = P::RULES;

    fn schema() -> &'static Value {
        P::schema()
    }
}

/// Where an object has what a draft has at a path: names and notes are `metadata`, all else is `spec`. What is told of other parts
/// of the logical cloud is in no object.
fn field_of_part(path: &str, spec: impl Fn(&str) -> Option<&'static str>) -> String {
    if path.starts_with("spec.") || path.starts_with("metadata.") {
        return String::new();
    }
    let (first, rest) = match path.find(['.', '[']) {
        Some(end) => path.split_at(end),
        None => (path, ""),
    };
    match first {
        "" => String::new(),
        "name" | "description" | "userData1" | "userData2" => format!("metadata.{path}"),
        _ => format!("spec.{}{rest}", spec(first).unwrap_or(first)),
    }
}

/// Where an object of names and notes alone has what a draft has at a path.
pub(super) fn field_of_metadata(path: &str) -> String {
    format!("metadata.{path}")
}
