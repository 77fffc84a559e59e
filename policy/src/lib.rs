//! What the rules of this workspace need to know of it.
//!
//! The rules themselves are this crate's tests, one file for each kind; the README's code is compiled here too. The
//! crate is never published, and no other depends on it.

pub mod crates;
pub mod source;
mod workspace;

pub use workspace::{FeatureSet, Workspace, cargo, history, root, tracked_files};

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
