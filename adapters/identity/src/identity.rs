//! Who somebody proved to be.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use crate::name::{self, GROUPS_MAX, Kind};

/// Who somebody proved to be, how, and until when the proof holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    user: String,
    groups: BTreeSet<String>,
    until: Option<Timestamp>,
    proof: Proof,
}

/// How somebody proved who they are: for the log and the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// By a client certificate.
    Certificate,
    /// By a token of an OpenID Connect issuer.
    Issuer(String),
    /// By a static token of this name.
    Token(String),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate => f.write_str("client certificate"),
            Self::Issuer(issuer) => write!(f, "token of {issuer}"),
            Self::Token(name) => write!(f, "static token {name}"),
        }
    }
}

impl Identity {
    /// An identity whose proof was checked by whoever calls this.
    ///
    /// # Errors
    /// A name that is not taken from outside ([`name::check`]), or too many groups.
    pub fn new(
        user: impl Into<String>,
        groups: impl IntoIterator<Item = String>,
        until: Option<Timestamp>,
        proof: Proof,
    ) -> Result<Self, name::Invalid> {
        let user = user.into();
        name::check(Kind::User, &user)?;
        let mut known = BTreeSet::new();
        for group in groups {
            name::check(Kind::Group, &group)?;
            known.insert(group);
            if known.len() > GROUPS_MAX {
                return Err(name::Invalid::Groups);
            }
        }
        Ok(Self { user, groups: known, until, proof })
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The groups that the user is in.
    #[must_use]
    pub fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }

    /// When the proof ends; none: when it is taken back. A request that goes on for long should not outlive it.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// How it was proved.
    #[must_use]
    pub fn proof(&self) -> &Proof {
        &self.proof
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_counted_once_each() {
        let named = |count: usize| (0..count).map(|number| format!("group-{number}"));
        let made = |groups: Vec<String>| Identity::new("alice", groups, None, Proof::Certificate);
        let twice = named(GROUPS_MAX).chain(named(GROUPS_MAX)).collect();
        assert_eq!(made(twice).unwrap().groups().len(), GROUPS_MAX);
        assert_eq!(made(named(GROUPS_MAX + 1).collect()), Err(name::Invalid::Groups));
    }

    #[test]
    fn one_reserved_group_spoils_the_whole_identity() {
        let groups = ["builders".to_owned(), "system:masters".to_owned()];
        let made = Identity::new("alice", groups, None, Proof::Certificate);
        assert_eq!(made, Err(name::Invalid::Reserved(Kind::Group)));
    }
}
