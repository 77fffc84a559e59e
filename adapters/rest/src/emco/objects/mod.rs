//! Bodies of requests and answers of this dialect, and their conversion to and from what the model takes and gives.

mod cluster;
mod cluster_reference;
mod controller;
mod key_values;
mod label;
mod logical_cloud;
mod metadata;
mod named;
mod permission;
mod quota;

pub(super) use cluster::{Cluster, ClusterWithLabels};
pub(super) use cluster_reference::ClusterReference;
pub(super) use controller::Controller;
pub(super) use key_values::KeyValues;
pub(super) use label::Label;
pub(super) use logical_cloud::LogicalCloud;
pub(super) use metadata::Metadata;
pub(super) use named::Named;
pub(super) use permission::Permission;
pub(super) use quota::Quota;

/// Adds a line for a text that is too long.
fn at_most(longest: usize, text: &str, lines: &mut Vec<String>) {
    if text.chars().count() > longest {
        lines.push(format!("String length must be less than or equal to {longest}"));
    }
}

/// Where a document has what a draft has at a path: names and notes are `metadata`, all else is `spec`, where `renamed` tells what a
/// field is called. What is told of the whole logical cloud stays as it is.
pub(super) fn field_of_part<'a>(path: &'a str, renamed: impl Fn(&'a str) -> &'a str) -> String {
    if path.starts_with("spec.") || path.starts_with("metadata.") {
        return path.to_owned();
    }
    let (first, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    match (first, renamed(first)) {
        ("name" | "description" | "userData1" | "userData2", _) => format!("metadata.{path}"),
        (_, "") => format!("spec{rest}"),
        (_, renamed) => format!("spec.{renamed}{rest}"),
    }
}
