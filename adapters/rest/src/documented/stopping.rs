//! Pausing work: how long is waited until nothing is under way, and what is told when that is not long enough.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::RETRY_AFTER;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::Error;
use schemars::JsonSchema;
use serde::Deserialize;

use super::problem::{Kind, Problem, RETRY_AFTER_SECONDS};
use super::warnings;
use crate::request::STOP_WAIT;

/// What the document says of the answer.
pub(super) const STOPPED: &str =
    "It is paused. With `Retry-After`, requests may be under way still: a warning says of which workers.";

const SECONDS_MAX: u64 = STOP_WAIT.as_secs();

/// How long is waited.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Waiting {
    /// For how many seconds requests that are under way are waited for. Default: 10.
    #[schemars(range(max = SECONDS_MAX))]
    wait_seconds: Option<u64>,
}

impl Waiting {
    pub(super) fn limit(&self) -> Result<Duration, Problem> {
        let limit = self.wait_seconds.map_or(STOP_WAIT, Duration::from_secs);
        if limit > STOP_WAIT {
            return Err(Problem::new(Kind::Malformed, format!("wait-seconds must be 0 to {SECONDS_MAX}")));
        }
        Ok(limit)
    }
}

/// What is told of work that was paused. While it is not known that nothing is under way, the same may be asked again.
pub(super) fn headers(stopped: Result<(), Error>) -> Result<HeaderMap, Problem> {
    match stopped {
        Ok(()) => Ok(HeaderMap::new()),
        Err(Error::Synchronizer(Failure::StillUnderWay { workers, .. })) => {
            let workers = workers.join(", ");
            let text = format!("these workers had not said that nothing is under way: {workers}");
            let mut headers = warnings::headers([text]);
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS.into());
            Ok(headers)
        }
        Err(error) => Err(error.into()),
    }
}
