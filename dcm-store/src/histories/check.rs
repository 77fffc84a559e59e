//! Whether a history is one that the contract allows.

use std::fmt;

use super::facts::Facts;
use super::history::History;
use super::{moments, shapes, versions, watches};

/// What a history violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Legal requests are answered or refused as the contract says, and do not fail for good because a server died.
    Answers,
    /// Pages are in order, within what was asked, and go on behind where they began.
    Pages,
    /// What is seen was written, and not refused.
    Written,
    /// A version of a path is used once, and later ones are higher.
    Versions,
    /// The calls about one path can be put into an order that explains them all and agrees with their times: every acknowledged
    /// write is there, and every read is of the latest.
    Documents,
    /// Of a batch all or nothing is applied, or, where batches are not atomic, as much as is said, in order.
    Batches,
    /// With atomic batches, a batch and a page are each of one moment.
    Moments,
    /// A watch tells what was, and never goes back.
    WatchOrder,
    /// When all is quiet, the last that a watch told is the truth.
    WatchTruth,
    /// The search for an order took too long: nothing is known. It says nothing against the store.
    TooHard,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// How a history violates a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// In what way.
    pub what: String,
    /// The calls that show it.
    pub shown: Vec<String>,
}

impl Violation {
    pub(super) fn new(rule: Rule, what: impl Into<String>, shown: Vec<String>) -> Self {
        Self { rule, what: what.into(), shown }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.what)?;
        self.shown.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// Checks a history against all rules: first what single answers show, then what no order of the calls explains.
///
/// # Errors
/// The first violation.
pub fn check(history: &History) -> Result<(), Violation> {
    shapes::check(history)?;
    let facts = Facts::gather(history)?;
    versions::check(&facts)?;
    moments::check(&facts)?;
    watches::check(&facts)
}
