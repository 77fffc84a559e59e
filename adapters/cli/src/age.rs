//! How long ago something was, or how long until it is, for people.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The time between two moments in one unit, or two for what is near: `42s`, `3m20s`, `5h`, `12d`.
pub(crate) fn between(earlier: Timestamp, later: Timestamp) -> String {
    let seconds = later.duration_since(earlier).as_secs().max(0);
    match seconds {
        0..MINUTE => format!("{seconds}s"),
        MINUTE..600 if seconds % MINUTE > 0 => format!("{}m{}s", seconds / MINUTE, seconds % MINUTE),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    #[test]
    fn an_age_has_the_units_that_a_person_looks_for() {
        let start = Timestamp::UNIX_EPOCH;
        for (seconds, shown) in [
            (-5, "0s"),
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (200, "3m20s"),
            (700, "11m"),
            (7300, "2h"),
            (DAY * 12 + 5, "12d"),
        ] {
            assert_eq!(between(start, start + SignedDuration::from_secs(seconds)), shown);
        }
    }
}
