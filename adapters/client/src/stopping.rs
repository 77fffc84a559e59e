//! Pausing work, and waiting until nothing is under way.

use std::time::Duration;

use http::header::RETRY_AFTER;

use crate::connection::Asking;
use crate::error::Error;
use crate::warnings::warnings;

/// Longest time that a server waits at once, in seconds.
const SECONDS_MAX: u64 = 10;

/// What is asked for.
pub(crate) fn target(wait: Duration) -> String {
    format!("/stop?wait-seconds={}", wait.as_secs().min(SECONDS_MAX))
}

/// What is not known to have ended.
pub(crate) async fn stopped(asking: Asking<'_>) -> Result<Option<String>, Error> {
    let (headers, _) = asking.parts().await?;
    Ok(headers.contains_key(RETRY_AFTER).then(|| warnings(&headers).join("; ")))
}
