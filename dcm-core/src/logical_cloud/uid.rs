//! What tells a logical cloud from another one of the same name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Hexadecimal digits of a UID.
const DIGITS: usize = 16;

/// 64 random bits, made when the logical cloud is made: one that is made again, a restored store or a second
/// installation has another one, so that an old certificate never comes to life again. Its text form is 16 lower-case
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LogicalCloudUid(u64);

text_form!(LogicalCloudUid, "^[0-9a-f]{16}$");

/// A text that is not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a logical cloud's UID is 16 lower-case hexadecimal digits")]
pub struct InvalidUid;

impl LogicalCloudUid {
    /// Takes random bits, once, when a logical cloud is made.
    #[must_use]
    pub fn from_random(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for LogicalCloudUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for LogicalCloudUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LogicalCloudUid {
    type Err = InvalidUid;

    fn from_str(text: &str) -> Result<Self, InvalidUid> {
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != DIGITS || !text.bytes().all(lower) {
            return Err(InvalidUid);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| InvalidUid)
    }
}

impl TryFrom<String> for LogicalCloudUid {
    type Error = InvalidUid;

    fn try_from(text: String) -> Result<Self, InvalidUid> {
        text.parse()
    }
}

impl From<LogicalCloudUid> for String {
    fn from(uid: LogicalCloudUid) -> Self {
        uid.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_round_trips_and_other_texts_are_refused() {
        let uid = LogicalCloudUid::from_random(0x2a);
        assert_eq!(uid.to_string(), "000000000000002a");
        assert_eq!(uid.to_string().parse(), Ok(uid));
        for bad in ["", "2a", "000000000000002A", "+00000000000002a", "00000000000000000"] {
            assert!(bad.parse::<LogicalCloudUid>().is_err(), "{bad}");
        }
    }
}
