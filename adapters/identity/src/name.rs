//! Which names of users and groups are taken from outside.

use std::fmt;

/// Most bytes of a user's or a group's name, its prefix included: room for an issuer's URL, a mail address and more.
pub const NAME_BYTES_MAX: usize = 512;

/// Most groups of one user: some issuers put up to 200 into a token.
pub const GROUPS_MAX: usize = 256;

/// What Kubernetes keeps for itself, and so do we.
pub const RESERVED_PREFIX: &str = "system:";

/// What is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A user.
    User,
    /// A group.
    Group,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Group => "group",
        })
    }
}

/// Why a name is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// There is none.
    #[error("the name of a {0} is empty")]
    Empty(Kind),
    /// It is too long.
    #[error("the name of a {0} has more than {NAME_BYTES_MAX} bytes")]
    Long(Kind),
    /// It would be taken for one of the system's own.
    #[error("the name of a {0} begins with {RESERVED_PREFIX:?}, which is reserved")]
    Reserved(Kind),
    /// It has characters that can't be seen, or begins or ends with a space: two such names look the same.
    #[error("the name of a {0} has characters that can't be seen, or a space at its beginning or end")]
    Invisible(Kind),
    /// It would be taken for one that another issuer gave.
    #[error("the name of a {0} begins as those of an issuer do that did not give it")]
    OfAnother(Kind),
    /// There are too many groups.
    #[error("there are more than {GROUPS_MAX} groups")]
    Groups,
}

/// Checks one name.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(kind: Kind, name: &str) -> Result<(), Invalid> {
    if name.is_empty() {
        return Err(Invalid::Empty(kind));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Invalid::Long(kind));
    }
    if name.starts_with(RESERVED_PREFIX) {
        return Err(Invalid::Reserved(kind));
    }
    if name.trim() != name || name.chars().any(is_invisible) {
        return Err(Invalid::Invisible(kind));
    }
    Ok(())
}

/// Control characters, and those that only change how others look.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_have_are_taken() {
        for name in [
            "alice",
            "alice@example.com",
            "https://issuer.example.com#17",
            "Ålice Ünal",
            "a:b/c d",
            "System:admin",
            "my-system:x",
        ] {
            assert_eq!(check(Kind::User, name), Ok(()), "{name}");
        }
        assert_eq!(check(Kind::Group, &"a".repeat(NAME_BYTES_MAX)), Ok(()));
    }

    #[test]
    fn a_name_that_could_be_mistaken_for_another_is_not_taken() {
        let table = [
            ("", Invalid::Empty(Kind::Group)),
            ("system:masters", Invalid::Reserved(Kind::Group)),
            ("system:", Invalid::Reserved(Kind::Group)),
            (" alice", Invalid::Invisible(Kind::Group)),
            ("alice\u{a0}", Invalid::Invisible(Kind::Group)),
            ("ali\nce", Invalid::Invisible(Kind::Group)),
            ("alice\0", Invalid::Invisible(Kind::Group)),
            ("ali\u{200b}ce", Invalid::Invisible(Kind::Group)),
            ("\u{202e}ecila", Invalid::Invisible(Kind::Group)),
        ];
        for (name, expected) in table {
            assert_eq!(check(Kind::Group, name), Err(expected), "{name:?}");
        }
        assert_eq!(check(Kind::User, &"a".repeat(NAME_BYTES_MAX + 1)), Err(Invalid::Long(Kind::User)));
    }
}
