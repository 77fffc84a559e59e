//! Registered clusters.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod form;
pub(super) mod get;
pub(super) mod list;
