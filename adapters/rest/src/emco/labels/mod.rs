//! Labels of clusters. What selectors of clusters see is the same.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod put;
