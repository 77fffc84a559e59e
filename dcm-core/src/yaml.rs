//! The reader of YAML and JSON texts that come from outside: documents, and the files of settings, contexts and tokens. Kubeconfigs have
//! a reader of their own, with the limits of this one, which takes what client-go takes.
//!
//! A few hundred bytes of YAML can stand for millions of nodes: aliases of aliases, or lists nested without end. So each text has
//! limits: how deep it is nested, how many nodes it has, and how many nodes all of its aliases stand for. What has two readings is
//! refused: a key twice, merge keys (`<<`), unknown tags (`!…`). The size of a text is limited by its caller.

#[cfg(feature = "logical-cloud")]
pub(crate) mod compose;
#[cfg_attr(not(feature = "logical-cloud"), allow(dead_code, reason = "documents alone compare readings"))]
pub(crate) mod reading;
#[cfg(feature = "logical-cloud")]
mod write;

#[cfg(feature = "logical-cloud")]
pub use write::{WriteError, write};

use std::fmt;

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::Marker;
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, NonFiniteFloatPolicy, Options};

/// Deepest nesting of lists and mappings. The deepest known Kubernetes objects take 30.
pub const DEPTH_MAX: usize = 64;

/// Most lists, mappings and scalars that all aliases of one text may stand for: enough to say things once, too few to
/// fill the memory with ten lines.
pub const ALIASED_NODES_MAX: usize = 10_000;

/// Most lists, mappings and scalars in one document. A cloud with 10,000 cluster references has about 100,000.
pub const NODES_MAX: usize = 250_000;

/// Most bytes of scalars that all aliases of one text may stand for.
pub(crate) const ALIASED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Most events of the parser. The lists and mappings of a document have two events each, its scalars one.
pub(crate) const EVENTS_MAX: usize = 2 * NODES_MAX;

/// A place in a text, in lines and characters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl Place {
    /// The beginning of a text.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl From<&Marker> for Place {
    fn from(marker: &Marker) -> Self {
        Self { line: marker.line() as u64, column: marker.col() as u64 + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text can't be read. It holds nothing of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where.
    pub place: Place,
    /// The limit or rule that the text breaks; none for those of YAML and JSON themselves, and of the type that is read.
    pub rule: Option<String>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule.as_deref().unwrap_or("must be one well-formed YAML or JSON document");
        write!(f, "{}: it {rule}", self.place)
    }
}

impl std::error::Error for Unreadable {}

/// Why a file of the caller's own can't be read. The words may quote the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misread(String);

/// Reads a text of one document.
///
/// # Errors
/// [`Unreadable`], for the first limit or rule that the text breaks.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    let options = options(DEPTH_MAX, ALIASED_NODES_MAX);
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| unreadable(&error, DEPTH_MAX, ALIASED_NODES_MAX))
}

/// Reads a file of the caller's own: the error names unknown fields and wrong values, which for any other text may be secrets.
///
/// # Errors
/// [`Misread`].
pub fn read_own<T: DeserializeOwned>(text: &str) -> Result<T, Misread> {
    let options = options(DEPTH_MAX, ALIASED_NODES_MAX);
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let unreadable = unreadable(&error, DEPTH_MAX, ALIASED_NODES_MAX);
        let words = if unreadable.rule.is_some() { unreadable.to_string() } else { error.to_string() };
        Misread(words)
    })
}

fn options(depth_max: usize, aliased_nodes_max: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_depth: depth_max,
            max_nodes: NODES_MAX,
            max_events: EVENTS_MAX,
            max_recorded_anchor_events: aliased_nodes_max,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: aliased_nodes_max },
        emit_comments: false,
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

/// Says in our own words what is wrong: the reader's messages quote what they don't like.
fn unreadable(error: &Error, depth_max: usize, aliased_nodes_max: usize) -> Unreadable {
    let place = error.location().map_or(Place::START, |location| Place {
        line: location.line().max(1),
        column: location.column().max(1),
    });
    let mut cause = error;
    while let Error::AliasError { error, .. } | Error::WithSnippet { error, .. } = cause {
        cause = error;
    }
    let rule = match cause {
        Error::DuplicateMappingKey { .. } => "has a key twice".to_owned(),
        Error::MergeKeyNotAllowed { .. } => "must not have merge keys (<<): write the fields out".to_owned(),
        Error::UnsupportedTag { .. } => "must not have tags (!…)".to_owned(),
        Error::NonFiniteFloat { .. } => "must be a finite number, or a text in quotes".to_owned(),
        Error::UnknownAnchor { .. } => "names an anchor (&…) that isn't there".to_owned(),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::Budget {
            breach:
                BudgetBreach::Aliases { .. }
                | BudgetBreach::Anchors { .. }
                | BudgetBreach::RecordedAnchorEvents { .. }
                | BudgetBreach::RecordedAnchorBytes { .. },
            ..
        } => {
            format!("must have aliases (*…) for at most {aliased_nodes_max} nodes in all")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("must be nested at most {depth_max} deep")
        }
        Error::Budget { .. } => format!("must have at most {NODES_MAX} nodes"),
        _ => return Unreadable { place, rule: None },
    };
    Unreadable { place, rule: Some(rule) }
}
