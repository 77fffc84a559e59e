//! What the rules of this workspace need to know of it.
//!
//! The rules themselves are this crate's tests, one file for each kind; the code in the README and in `docs` is run here
//! too. The crate is never published, and no other depends on it.

pub mod crates;
pub mod source;
mod workspace;

pub use workspace::{FeatureSet, Workspace, cargo, history, root, tracked_files};

/// Runs the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Runs the code in the page about embedding.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
struct Embedding;
