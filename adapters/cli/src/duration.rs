//! Durations on the command line: `90s`, `10m`, `1h30m`.

use std::time::Duration;

use dcm_core::logical_cloud::limits::{DEADLINE_SECONDS_MAX, DEADLINE_SECONDS_MIN};
use dcm_sync::engine::LEASE_MAX;
use jiff::{Span, SpanRelativeTo};

/// Reads a duration that is longer than nothing.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a duration such as 90s, 10m, 1h30m or 90d".to_owned();
    let span: Span = text.parse().map_err(|_| wrong())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    let duration = Duration::try_from(duration).map_err(|_| wrong())?;
    if duration.is_zero() { Err(wrong()) } else { Ok(duration) }
}

/// Reads the length of a lease.
pub(crate) fn lease(text: &str) -> Result<Duration, String> {
    let lease = parse(text)?;
    if lease > LEASE_MAX {
        return Err(format!("must be at most {} s", LEASE_MAX.as_secs()));
    }
    Ok(lease)
}

/// Reads how long a cluster may take to be cleared, in seconds: the rule of documents and of a server. What a store would take all the
/// same would be refused by a server.
pub(crate) fn deadline(text: &str) -> Result<u32, String> {
    let deadline = parse(text)?;
    let legal = DEADLINE_SECONDS_MIN..=DEADLINE_SECONDS_MAX;
    let seconds = i64::try_from(deadline.as_secs()).ok().filter(|seconds| legal.contains(seconds));
    let seconds = seconds.filter(|_| deadline.subsec_nanos() == 0);
    seconds.and_then(|seconds| u32::try_from(seconds).ok()).ok_or_else(|| {
        format!("must be whole seconds, from {DEADLINE_SECONDS_MIN} s to {DEADLINE_SECONDS_MAX} s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_units_and_is_longer_than_nothing() {
        for (text, seconds) in
            [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h 30m", 5400), ("PT5S", 5), ("2d", 172_800)]
        {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "90", "-5s", "0s", "soon", "1mo"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_deadline_is_one_that_a_document_may_have_too() {
        for (text, seconds) in [("1s", 1), ("90s", 90), ("365d", 31_536_000)] {
            assert_eq!(deadline(text), Ok(seconds), "{text}");
        }
        for text in ["500ms", "1s500ms", "400d", "0s", "soon"] {
            assert!(deadline(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_lease_is_no_longer_than_others_wait() {
        assert_eq!(lease("1h"), Ok(LEASE_MAX));
        assert!(lease("61m").is_err() && lease("0s").is_err());
    }
}
