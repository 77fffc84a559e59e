//! Base64 as Go's `encoding/base64` reads it: line breaks are passed over, other white space is not.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

const ENGINE: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// What a text stands for; none for one that is no base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    ENGINE.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_passed_over_and_other_white_space_is_not() {
        for text in ["YWJj", "YW\nJj\n", "YW\r\nJj", "\nYWJj"] {
            assert_eq!(decode(text.as_bytes()).unwrap(), b"abc", "{text:?}");
        }
        assert_eq!(decode(b"YR==").unwrap(), b"a");
        for text in ["YW Jj", "YWJj\t", "YWJ", "YQ", "YQ=", "%", "YW-_"] {
            assert!(decode(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
