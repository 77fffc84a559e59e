//! Documents that a list can't show.

use crate::causes;
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
        Self { path: path.clone(), reason: causes::told(error) }
    }
}
