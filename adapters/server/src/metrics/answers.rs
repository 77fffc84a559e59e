//! What the API has answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dcm_rest::Answered;
use dcm_sync::engine::metrics::Durations;

/// What stands for the route where there is none: paths that callers make up must not make series.
pub(super) const NO_ROUTE: &str = "none";

/// How the API is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    /// That of `docs/rest.md`.
    Documented,
    /// EMCO's.
    Emco,
}

impl Dialect {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Emco => "emco",
        }
    }
}

/// How many requests were answered, by method and status.
type Counts = BTreeMap<(&'static str, u16), u64>;

/// Requests that were answered since the server was started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted {
    /// By dialect and route.
    pub(super) requests: BTreeMap<Dialect, BTreeMap<String, Counts>>,
    /// How long they took until the answer began.
    pub(super) took: BTreeMap<(Dialect, &'static str), Durations>,
}

impl Counted {
    fn count(&mut self, dialect: Dialect, answer: &Answered<'_>) {
        let routes = self.requests.entry(dialect).or_default();
        let route = answer.route.unwrap_or(NO_ROUTE);
        // Most are there: no text is made for those.
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Counts::new());
        }
        if let Some(counts) = routes.get_mut(route) {
            *counts.entry((answer.method, answer.status)).or_default() += 1;
        }
        self.took.entry((dialect, answer.method)).or_default().count(answer.took);
    }
}

/// What all listeners of a server count in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(Arc<Mutex<Counted>>);

impl Answers {
    pub(super) fn count(&self, dialect: Dialect, answer: &Answered<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count(dialect, answer);
    }

    /// All of it up to now.
    pub(super) fn get(&self) -> Counted {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
