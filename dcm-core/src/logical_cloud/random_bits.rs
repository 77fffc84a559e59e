//! Random bits, drawn once and kept: they tell things of one name apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Hexadecimal digits of 64 bits.
const DIGITS: usize = 16;

/// 64 random bits as a type of its own. Its text form is 16 lower-case hexadecimal digits.
macro_rules! random_bits {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        ///
        /// Its text form is 16 lower-case hexadecimal digits.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(u64);

        text_form!($name, "^[0-9a-f]{16}$");

        impl $name {
            /// Takes random bits, once.
            #[must_use]
            pub fn from_random(bits: u64) -> Self {
                Self(bits)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidBits;

            fn from_str(text: &str) -> Result<Self, InvalidBits> {
                bits(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidBits;

            fn try_from(text: String) -> Result<Self, InvalidBits> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(bits: $name) -> Self {
                bits.to_string()
            }
        }
    };
}

random_bits! {
    /// What tells a logical cloud from another one of the same name. It is drawn when the logical cloud is made: one that is
    /// made again, a restored store or a second installation has another one, so that an old certificate never comes to
    /// life again.
    LogicalCloudUid
}

random_bits! {
    /// The random part in the name of a CertificateSigningRequest. It is drawn with the credential and stored before the
    /// request is sent, so that no one can take the name first who has not seen the request on a cluster.
    RequestNonce
}

random_bits! {
    /// What the names of a logical cloud's ServiceAccounts are made with. It is drawn when the logical cloud is made, and is on no
    /// cluster: a client that knows the name of a user's account does not know the next one, and can't make it beforehand.
    AccountSeed
}

/// A text that is not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not 16 lower-case hexadecimal digits")]
pub struct InvalidBits;

fn bits(text: &str) -> Result<u64, InvalidBits> {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != DIGITS || !text.bytes().all(lower) {
        return Err(InvalidBits);
    }
    u64::from_str_radix(text, 16).map_err(|_| InvalidBits)
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
