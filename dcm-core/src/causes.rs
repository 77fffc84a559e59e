//! Errors in one line.

use std::error::Error;
use std::iter::successors;

/// For whom a failure is put into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// A member of a project: reads sentences of ours, and nothing that clusters or connections report.
    Member,
    /// A platform admin, and the user of a store: reads all details.
    PlatformAdmin,
}

/// What an object can't be made in; a person makes it, or changes the document.
#[must_use]
pub fn missing_namespace(namespace: &str) -> String {
    format!(
        "the namespace {namespace} does not exist on the cluster: create it there, or change what is wanted in it"
    )
}

/// What an error says, and what each error below it says.
///
/// ```
/// use dcm_core::causes;
///
/// let error = "x".parse::<u8>().map_err(std::io::Error::other).unwrap_err();
/// assert_eq!(causes::told(&error), "invalid digit found in string");
/// ```
#[must_use]
pub fn told(error: &dyn Error) -> String {
    let below = successors(error.source(), |error| (**error).source());
    below.fold(error.to_string(), |told, error| format!("{told}: {error}"))
}
