//! Users: who works in a logical cloud, and how they prove it.

use serde::{Deserialize, Serialize};

use crate::name::UserName;
use crate::port::key_source::KeyType;
use crate::refusal::{Checks, Path, Refusals};

use super::check::Part;
use super::draft::UserDraft;
use super::key_type;
use super::limits::{LIFETIME_SECONDS_MAX, LIFETIME_SECONDS_MIN};
use super::metadata::Metadata;
use super::request_pem::RequestPem;

/// Somebody who works in a logical cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UserDraft", into = "UserDraft")]
#[non_exhaustive]
pub struct User {
    /// Name, unique in the cloud, and notes.
    pub metadata: Metadata<UserName>,
    /// How the user proves who it is.
    pub kind: UserType,
    /// The type of the private key that is made for the user; the default where none is made.
    pub key: KeyType,
    /// How long a credential is to live; none for what the cluster gives by itself.
    pub lifetime: Option<LifetimeSeconds>,
}

/// How a user proves who it is. User name and password is no choice: Kubernetes dropped basic authentication in 1.19.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserType {
    /// A client certificate that each cluster signs.
    Certificate {
        /// The request that the user made; none when we make key and request.
        own_request: Option<RequestPem>,
    },
    /// A ServiceAccount's token.
    Token,
}

impl UserType {
    /// The type as documents spell it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Certificate { .. } => "certificate",
            Self::Token => "token",
        }
    }
}

/// A credential's lifetime, in seconds: 600 and up, as Kubernetes has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LifetimeSeconds(i32);

impl LifetimeSeconds {
    /// The seconds.
    #[must_use]
    pub fn get(self) -> i32 {
        self.0
    }
}

impl Part for User {
    type Draft = UserDraft;
    type Name = UserName;

    fn metadata(&self) -> &Metadata<UserName> {
        &self.metadata
    }

    fn check(draft: &UserDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let metadata = Metadata::check(draft.metadata(), at, checks);
        let lifetime = lifetime(draft.lifetime_seconds, &at.field("lifetimeSeconds"), checks);
        let kind = kind(draft, at, checks);
        let key = key(draft, at, checks);
        Some(Self { metadata: metadata?, kind: kind?, key: key?, lifetime: lifetime? })
    }
}

fn kind(draft: &UserDraft, at: &Path, checks: &mut Checks) -> Option<UserType> {
    let text = draft.kind.as_deref().unwrap_or("");
    let request = draft.csr.as_deref().filter(|csr| !csr.is_empty());
    match text.to_ascii_lowercase().as_str() {
        "" | "certificate" => {
            let own_request = match request {
                None => None,
                // The value is not shown: somebody may have pasted the private key.
                Some(pem) => Some(checks.accept(&at.field("csr"), "", RequestPem::new(pem))?),
            };
            Some(UserType::Certificate { own_request })
        }
        "token" if request.is_some() => {
            checks.refuse(&at.field("csr"), "", "a token user has no certificate signing request");
            None
        }
        "token" => Some(UserType::Token),
        "unpw" => {
            let rule = "user name and password can't be served: Kubernetes dropped basic authentication in 1.19; use \
                        certificate or token";
            checks.refuse(&at.field("type"), text, rule);
            None
        }
        _ => {
            checks.refuse(&at.field("type"), text, "must be certificate or token");
            None
        }
    }
}

fn key(draft: &UserDraft, at: &Path, checks: &mut Checks) -> Option<KeyType> {
    let at = at.field("key");
    let text = draft.key.as_deref().unwrap_or_default();
    let is_token = draft.kind.as_ref().is_some_and(|kind| kind.eq_ignore_ascii_case("token"));
    let rule = if is_token {
        "a token user has no key"
    } else if draft.csr.as_ref().is_some_and(|csr| !csr.is_empty()) {
        "the user who brings a request has made the key"
    } else {
        return key_type::check(Some(text), &at, checks);
    };
    if text.is_empty() {
        return Some(KeyType::default());
    }
    checks.refuse(&at, key_type::shown(text), rule);
    None
}

/// The outer none is a refusal, the inner one an absent lifetime.
#[allow(clippy::option_option, reason = "absent and refused are two things")]
fn lifetime(seconds: Option<i64>, at: &Path, checks: &mut Checks) -> Option<Option<LifetimeSeconds>> {
    let Some(seconds) = seconds else { return Some(None) };
    match i32::try_from(seconds) {
        Ok(held) if seconds >= LIFETIME_SECONDS_MIN => Some(Some(LifetimeSeconds(held))),
        _ => {
            let rule = format!("must be {LIFETIME_SECONDS_MIN} to {LIFETIME_SECONDS_MAX} seconds");
            checks.refuse(at, &seconds.to_string(), rule);
            None
        }
    }
}

impl TryFrom<UserDraft> for User {
    type Error = Refusals;

    fn try_from(draft: UserDraft) -> Result<Self, Refusals> {
        super::checked(|checks| Self::check(&draft, &Path::root(), checks))
    }
}

impl From<User> for UserDraft {
    fn from(user: User) -> Self {
        let kind = Some(user.kind.as_str().to_owned());
        let csr = match user.kind {
            UserType::Certificate { own_request } => own_request.map(|pem| pem.as_str().to_owned()),
            UserType::Token => None,
        };
        let lifetime_seconds = user.lifetime.map(|lifetime| i64::from(lifetime.get()));
        let key = (user.key != KeyType::default()).then(|| user.key.as_str().to_owned());
        Self { kind, csr, key, lifetime_seconds, ..Self::with_metadata(user.metadata.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(kind: &str) -> UserDraft {
        UserDraft { name: "ann".into(), kind: Some(kind.into()), ..UserDraft::default() }
    }

    fn rule_of(draft: UserDraft) -> String {
        User::try_from(draft).unwrap_err().to_string()
    }

    #[test]
    fn types_are_read_in_any_case_and_written_in_one() {
        for (text, kind) in [("Certificate", "certificate"), ("TOKEN", "token"), ("", "certificate")] {
            let user = User::try_from(draft(text)).unwrap();
            assert_eq!(UserDraft::from(user).kind.as_deref(), Some(kind));
        }
    }

    #[test]
    fn user_name_and_password_is_refused_with_the_reason() {
        assert!(rule_of(draft("UNPW")).contains("Kubernetes dropped basic authentication in 1.19"));
    }

    #[test]
    fn a_pasted_private_key_is_refused_and_not_repeated() {
        let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
        let pasted = Some(format!("{begin}\nMIIsecret\n"));
        let refused = rule_of(UserDraft { csr: pasted.clone(), ..draft("certificate") });
        assert!(refused.contains("consider it lost"), "{refused}");
        assert!(!refused.contains("MIIsecret"), "{refused}");
        let as_key = UserDraft { key: pasted, ..draft("certificate") };
        let seen = format!("{as_key:?} {}", rule_of(as_key.clone()));
        assert!(seen.contains("must be ecdsa-p256") && !seen.contains("MIIsecret"), "{seen}");
    }

    #[test]
    fn a_request_that_the_user_brought_comes_back_in_one_form() {
        let pem = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----";
        let user =
            User::try_from(UserDraft { csr: Some(format!("\n{pem}\n\n")), ..draft("certificate") }).unwrap();
        assert_eq!(UserDraft::from(user).csr, Some(format!("{pem}\n")));
        assert!(
            rule_of(UserDraft { csr: Some("hello".into()), ..draft("certificate") })
                .contains("one PEM block")
        );
        assert!(rule_of(UserDraft { csr: Some(pem.into()), ..draft("token") }).contains("csr"));
    }

    #[test]
    fn lifetimes_below_ten_minutes_are_refused() {
        for (seconds, good) in [(599, false), (600, true), (LIFETIME_SECONDS_MAX, true), (1 << 31, false)] {
            let user = User::try_from(UserDraft { lifetime_seconds: Some(seconds), ..draft("token") });
            assert_eq!(user.is_ok(), good, "{seconds}");
        }
    }

    #[test]
    fn a_type_of_key_is_for_a_key_that_is_made_here() {
        let with = |key: &str, kind: &str| UserDraft { key: Some(key.into()), ..draft(kind) };
        for key in KeyType::ALL {
            let user = User::try_from(with(key.as_str(), "certificate")).unwrap();
            assert_eq!(user.key, key);
            let written = UserDraft::from(user).key;
            assert_eq!(written.as_deref(), (key != KeyType::default()).then_some(key.as_str()));
        }
        for kind in ["certificate", "token"] {
            assert_eq!(User::try_from(with("", kind)).unwrap().key, KeyType::default());
        }
        assert!(rule_of(with("rsa-1024", "certificate")).contains("rsa-3072"));
        assert!(rule_of(with("rsa-3072", "Token")).contains("a token user has no key"));
        let pem = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----";
        let own = UserDraft { csr: Some(pem.into()), ..with("rsa-3072", "certificate") };
        assert!(rule_of(own).contains("has made the key"));
    }
}
