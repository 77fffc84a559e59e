//! Lists in pages.

use axum::http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::{Kind, Problem};

/// How many items a page has where nobody asks for another number.
const LIMIT_DEFAULT: usize = 100;

/// Most items in a page.
const LIMIT_MAX: usize = 500;

/// What part of a list is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted<Name> {
    /// Where to go on: behind what has this name.
    pub(super) after: Option<Name>,
    limit: Option<usize>,
}

impl<Name> Wanted<Name> {
    /// How many items at most.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        match self.limit {
            None => Ok(LIMIT_DEFAULT),
            Some(limit @ 1..=LIMIT_MAX) => Ok(limit),
            Some(_) => Err(Problem::new(Kind::Malformed, format!("limit must be 1 to {LIMIT_MAX}"))),
        }
    }
}

/// Some items of a list.
#[derive(Debug, Serialize, JsonSchema)]
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
        let path = uri.path();
        let next = next.map(|name| format!("{path}?after={}&limit={limit}", name.as_ref()));
        let told = |one: dcm_core::service::Broken| Broken { path: one.path.to_string(), reason: one.reason };
        Self { items, next, broken: broken.into_iter().map(told).collect() }
    }
}
