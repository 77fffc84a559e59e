//! Documents that a list can't show.

use std::error::Error as _;

use crate::port::store::Path;

use super::error::Error;

/// A document that can't be read, and is passed over in a list: the others are shown all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Where it lies.
    pub path: Path,
    /// What is wrong with it, without its content.
    pub reason: String,
}

impl Broken {
    pub(super) fn new(path: &Path, error: &Error) -> Self {
        let mut reason = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            reason = format!("{reason}: {error}");
            source = error.source();
        }
        Self { path: path.clone(), reason }
    }
}
