//! Durations in settings: `10s`, `1h30m`.

use std::time::Duration;

use dcm_core::refusal::{Checks, Path};
use jiff::SignedDuration;

/// Writes a duration as it is read.
#[must_use]
pub fn told(duration: Duration) -> String {
    // What was read fits.
    format!("{:#}", SignedDuration::try_from(duration).unwrap_or_default())
}

/// Reads a duration that is longer than nothing, and no longer than this.
pub(super) fn read(text: &str, max: Option<Duration>, path: &Path, checks: &mut Checks) -> Option<Duration> {
    let read = text.parse::<SignedDuration>().ok().and_then(|read| Duration::try_from(read).ok());
    let read = read.filter(|read| !read.is_zero() && max.is_none_or(|max| *read <= max));
    if read.is_none() {
        let at_most = max.map(|max| format!(", of at most {}", told(max))).unwrap_or_default();
        checks.refuse(path, text, format!("must be a duration such as 10s{at_most}"));
    }
    read
}
