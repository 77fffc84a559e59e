//! Bearer tokens: which kind one is of, before it is looked at.

use crate::tokens;

/// Longest token that is looked at, in bytes. One with 200 groups has some 10 KiB.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Kinds of tokens. No token of one kind can be one of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One of ours, which is in a file.
    Static,
    /// A JSON Web Token.
    Web,
}

impl Kind {
    pub(crate) fn of(token: &str) -> Option<Self> {
        if token.starts_with(tokens::PREFIX) {
            return Some(Self::Static);
        }
        (token.split('.').count() == 3).then_some(Self::Web)
    }
}

/// True for what has the form of a JSON Web Token: to find out whose one is takes a signature's check, and keys that may have to be fetched. One that is
/// in a file is found by one digest, which is as quick as refusing it.
#[must_use]
pub fn is_web_token(token: &str) -> bool {
    Kind::of(token) == Some(Kind::Web)
}

/// The token in an `Authorization` header (RFC 6750); none when it has another scheme, or another form.
#[must_use]
pub fn token_in(header: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(header).ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_token = !token.is_empty() && token.bytes().all(is_of_token);
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_out_of_its_header() {
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  a.b-c_d~e+f/g= ", Some("a.b-c_d~e+f/g=")),
            ("Basic abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("Bearer a b", None),
            ("Bearer a,b", None),
            ("", None),
        ] {
            assert_eq!(token_in(header.as_bytes()), expected, "{header:?}");
        }
        assert_eq!(token_in(b"Bearer \xff"), None);
    }

    #[test]
    fn the_kinds_of_tokens_are_told_by_their_form() {
        for (token, expected) in [
            ("dcm_1_2", Some(Kind::Static)),
            ("dcm_a.b.c", Some(Kind::Static)),
            ("a.b.c", Some(Kind::Web)),
            ("..", Some(Kind::Web)),
            ("a.b", None),
            ("a.b.c.d", None),
            ("", None),
        ] {
            assert_eq!(Kind::of(token), expected, "{token:?}");
        }
    }
}
