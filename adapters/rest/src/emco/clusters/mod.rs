//! Registered clusters.

pub(super) mod create;
pub(super) mod delete;
mod form;
pub(super) mod get;
pub(super) mod list;
