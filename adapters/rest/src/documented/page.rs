//! Lists in pages.

use axum::http::Uri;
use dcm_core::logical_cloud::{InvalidSelector, LabelSelector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::{Kind, Problem};

/// How many items a page has where nobody asks for another number.
const LIMIT_DEFAULT: usize = 100;

/// Most items in a page.
pub(super) const LIMIT_MAX: usize = 500;

/// How a list of what has labels is asked for.
pub(super) const LABELLED: &str =
    "With a selector, pages may have fewer items than asked for, even none, and go on.";

/// What part of a list is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted<Name> {
    /// Where to go on: behind what has this name.
    pub(super) after: Option<Name>,
    /// How many items at most. Default: 100.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: Option<usize>,
}

impl<Name> Wanted<Name> {
    /// How many items at most.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        checked(self.limit)
    }
}

/// The same of a list of what has labels.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Labelled<Name> {
    /// Where to go on: behind what has this name.
    pub(super) after: Option<Name>,
    /// How many items at most. Default: 100.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    pub(super) limit: Option<usize>,
    /// Only what has such labels, as Kubernetes writes it: `tier=edge,zone in (a,b),!old`.
    label_selector: Option<String>,
}

impl<Name> Labelled<Name> {
    /// Which labels are asked for.
    pub(super) fn selector(&self) -> Result<LabelSelector, Problem> {
        selector(self.label_selector.as_deref())
    }
}

/// Which labels are asked for, by what a query says of them.
pub(super) fn selector(text: Option<&str>) -> Result<LabelSelector, Problem> {
    let Some(text) = text else { return Ok(LabelSelector::default()) };
    let malformed = |error| Problem::new(Kind::Malformed, format!("label-selector: {error}"));
    text.parse().map_err(|error: InvalidSelector| malformed(error))
}

/// How many items a page has.
pub(super) fn checked(limit: Option<usize>) -> Result<usize, Problem> {
    match limit {
        None => Ok(LIMIT_DEFAULT),
        Some(limit @ 1..=LIMIT_MAX) => Ok(limit),
        Some(_) => Err(Problem::new(Kind::Malformed, format!("limit must be 1 to {LIMIT_MAX}"))),
    }
}

/// Some items of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(super) struct Page<T> {
    /// The items, in the order of their names. There may be fewer than asked for, even none, and more behind them.
    items: Vec<T>,
    /// Where the next page is; absent when this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What of this page can't be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken: Vec<Broken>,
}

/// Something that can't be read.
#[derive(Debug, Serialize, JsonSchema)]
struct Broken {
    /// Where it is stored.
    path: String,
    /// What is wrong with it.
    reason: String,
}

impl<T> Page<T> {
    /// A page, and the name behind which the next one begins.
    pub(super) fn new(
        items: Vec<T>,
        broken: Vec<dcm_core::service::Broken>,
        next: Option<impl AsRef<str>>,
        limit: usize,
        uri: &Uri,
    ) -> Self {
        let told = |one: dcm_core::service::Broken| Broken { path: one.path.to_string(), reason: one.reason };
        let next = next.map(|name| following(uri, name.as_ref(), limit));
        Self { items, next, broken: broken.into_iter().map(told).collect() }
    }
}

#[cfg(feature = "parsers")]
impl<T> Page<T> {
    /// Where the next page is.
    pub(super) fn next(self) -> Option<String> {
        self.next
    }
}

/// The path of the page behind a name, of those that were asked for.
fn following(uri: &Uri, after: &str, limit: usize) -> String {
    let path = format!("{}?", uri.path());
    let begins = path.len();
    let mut query = form_urlencoded::Serializer::for_suffix(path, begins);
    let asked = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let kept = asked.filter(|(name, _)| name != "after" && name != "limit");
    query.extend_pairs(kept).append_pair("after", after).append_pair("limit", &limit.to_string()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_one_of_what_was_asked_for() {
        let of = |uri: &str| following(&uri.parse().unwrap(), "b", 2);
        assert_eq!(of("/v2/projects"), "/v2/projects?after=b&limit=2");
        assert_eq!(of("/v2/audit?limit=7&since=a%26b&after=a"), "/v2/audit?since=a%26b&after=b&limit=2");
    }
}
