//! What an issuer says in a token whose signature was checked.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::identity::{Identity, Proof};
use crate::name::Kind;
use crate::refused::Refused;
use crate::settings::Issuer;

/// How far ahead of ours an issuer's clock may be: a token that it has just made is not valid before by ours. A token's end is taken
/// as it is said.
pub const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// The claim that mail addresses are in.
const EMAIL: &str = "email";

const TEXT: &str = "must be a text";
const TEXTS: &str = "must be a text, or a list of texts";

/// Who the claims are about.
pub(super) fn identify(
    claims: &Map<String, Value>,
    issuer: &Issuer,
    now: Timestamp,
) -> Result<Identity, Refused> {
    let audiences = texts(claims, "aud")?.ok_or_else(|| missing("aud"))?;
    if !audiences.iter().any(|audience| issuer.audiences.iter().any(|known| known == audience)) {
        return Err(Refused::Audience);
    }
    let until = time(claims, "exp")?.ok_or_else(|| missing("exp"))?;
    if until <= now {
        return Err(Refused::Expired(until));
    }
    for claim in ["nbf", "iat"] {
        if let Some(from) = time(claims, claim)?.filter(|from| from.duration_since(now) > LEEWAY) {
            return Err(Refused::NotYet(from));
        }
    }
    let user = user(claims, &issuer.username_claim)?;
    let groups = issuer.groups_claim.as_ref().map(|claim| texts(claims, claim));
    let groups = groups.transpose()?.flatten().unwrap_or_default();
    let (users, prefix) = (issuer.prefix(Kind::User), issuer.prefix(Kind::Group));
    // A name that is empty is none, whatever stands before it.
    if user.is_empty() || groups.contains(&"") {
        return Err(empty(if user.is_empty() { &issuer.username_claim } else { "groups" }));
    }
    let groups = groups.into_iter().map(|group| format!("{prefix}{group}"));
    let proof = Proof::Issuer(issuer.issuer.clone());
    Ok(Identity::new(format!("{users}{user}"), groups, Some(until), proof)?)
}

fn user<'a>(claims: &'a Map<String, Value>, claim: &str) -> Result<&'a str, Refused> {
    let user = claims.get(claim).ok_or_else(|| missing(claim))?;
    let user = user.as_str().ok_or_else(|| refused(claim, TEXT))?;
    // Whoever could sign up with anybody's address would be them.
    let verified = claims.get("email_verified").filter(|_| claim == EMAIL);
    if verified.is_some_and(|verified| *verified != Value::Bool(true)) {
        return Err(refused("email_verified", "must be true where it is there"));
    }
    Ok(user)
}

/// A text, or a list of texts; none when it is not there.
fn texts<'a>(claims: &'a Map<String, Value>, claim: &str) -> Result<Option<Vec<&'a str>>, Refused> {
    let texts = match claims.get(claim) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => Some(vec![text.as_str()]),
        Some(Value::Array(items)) => items.iter().map(Value::as_str).collect(),
        Some(_) => None,
    };
    texts.map(Some).ok_or_else(|| refused(claim, TEXTS))
}

/// A number of seconds, perhaps with a fraction, which does not count.
fn time(claims: &Map<String, Value>, claim: &str) -> Result<Option<Timestamp>, Refused> {
    let Some(value) = claims.get(claim) else { return Ok(None) };
    let seconds = value.as_i64().or_else(|| value.as_f64().and_then(whole));
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map(Some).ok_or_else(|| refused(claim, "must be a time in seconds"))
}

/// The seconds of a number that a time can have.
#[allow(clippy::cast_possible_truncation, reason = "it was looked at whether it fits")]
fn whole(seconds: f64) -> Option<i64> {
    (seconds.abs() < 1e15).then(|| seconds.floor() as i64)
}

fn missing(claim: &str) -> Refused {
    refused(claim, "is missing")
}

fn empty(claim: &str) -> Refused {
    refused(claim, "must not be empty")
}

fn refused(claim: &str, rule: &'static str) -> Refused {
    Refused::Claim { claim: claim.to_owned(), rule }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::name;

    const NOW: i64 = 1_800_000_000;

    fn settings() -> Issuer {
        Issuer { groups_claim: Some("groups".to_owned()), ..Issuer::new("https://a.example.com", "dcm") }
    }

    fn with(members: &Value, issuer: &Issuer) -> Result<Identity, Refused> {
        let mut claims = json!({"sub": "17", "aud": "dcm", "exp": NOW + 60});
        for (name, value) in members.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let claims = claims.as_object().unwrap();
        let claims = claims.iter().filter(|(_, value)| **value != json!("(none)"));
        let claims = claims.map(|(name, value)| (name.clone(), value.clone())).collect();
        identify(&claims, issuer, Timestamp::from_second(NOW).unwrap())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn names_have_the_prefix_of_their_issuer() {
        let found = with(&json!({"groups": ["builders", "readers"]}), &settings()).unwrap();
        let groups = ["builders", "readers"].map(|group| format!("https://a.example.com#{group}"));
        let proof = Proof::Issuer("https://a.example.com".to_owned());
        let expected = Identity::new("https://a.example.com#17", groups, Some(at(NOW + 60)), proof).unwrap();
        assert_eq!(found, expected);
        let short = Issuer {
            username_prefix: Some(String::new()),
            groups_prefix: Some("a:".to_owned()),
            username_claim: "name".to_owned(),
            ..settings()
        };
        let found = with(&json!({"name": "alice", "groups": "builders"}), &short).unwrap();
        assert_eq!((found.user(), found.groups().first().unwrap().as_str()), ("alice", "a:builders"));
    }

    #[test]
    fn a_token_is_for_one_of_the_audiences() {
        for (audience, expected) in [
            (json!("dcm"), Ok(())),
            (json!(["other", "dcm"]), Ok(())),
            (json!("other"), Err(Refused::Audience)),
            (json!("dcm2"), Err(Refused::Audience)),
            (json!([]), Err(Refused::Audience)),
            (json!(["dcm", 1]), Err(refused("aud", TEXTS))),
            (json!({"dcm": 1}), Err(refused("aud", TEXTS))),
            (json!("(none)"), Err(missing("aud"))),
        ] {
            assert_eq!(with(&json!({"aud": audience}), &settings()).map(drop), expected, "{audience}");
        }
    }

    #[test]
    fn a_token_has_an_end_and_its_times_hold() {
        let leeway = LEEWAY.as_secs();
        for (members, expected) in [
            (json!({"exp": NOW + 1}), Ok(())),
            (json!({"exp": NOW}), Err(Refused::Expired(at(NOW)))),
            (json!({"exp": NOW as f64 + 0.5}), Err(Refused::Expired(at(NOW)))),
            (json!({"exp": NOW as f64 + 1.5}), Ok(())),
            (json!({"exp": "(none)"}), Err(missing("exp"))),
            (json!({"exp": NOW.to_string()}), Err(refused("exp", "must be a time in seconds"))),
            (json!({"exp": null}), Err(refused("exp", "must be a time in seconds"))),
            (json!({"exp": u64::MAX}), Err(refused("exp", "must be a time in seconds"))),
            (json!({"exp": 1e300}), Err(refused("exp", "must be a time in seconds"))),
            (json!({"nbf": NOW + leeway, "iat": NOW + leeway}), Ok(())),
            (json!({"nbf": NOW + leeway + 1}), Err(Refused::NotYet(at(NOW + leeway + 1)))),
            (json!({"iat": NOW + leeway + 1}), Err(Refused::NotYet(at(NOW + leeway + 1)))),
            (json!({"nbf": "soon"}), Err(refused("nbf", "must be a time in seconds"))),
        ] {
            assert_eq!(with(&members, &settings()).map(drop), expected, "{members}");
        }
    }

    #[test]
    fn names_are_texts_and_nobody_is_empty_or_of_the_system() {
        let bare =
            Issuer { username_prefix: Some(String::new()), groups_prefix: Some(String::new()), ..settings() };
        for (members, expected) in [
            (json!({"sub": "(none)"}), missing("sub")),
            (json!({"sub": 17}), refused("sub", TEXT)),
            (json!({"sub": ""}), empty("sub")),
            (json!({"sub": "system:admin"}), name::Invalid::Reserved(Kind::User).into()),
            (json!({"sub": "a\nb"}), name::Invalid::Invisible(Kind::User).into()),
            (json!({"groups": 1}), refused("groups", TEXTS)),
            (json!({"groups": ["a", 1]}), refused("groups", TEXTS)),
            (json!({"groups": ["a", ""]}), empty("groups")),
            (json!({"groups": ["system:masters"]}), name::Invalid::Reserved(Kind::Group).into()),
        ] {
            assert_eq!(with(&members, &bare), Err(expected), "{members}");
        }
        for members in [json!({}), json!({"groups": null}), json!({"groups": []})] {
            assert!(with(&members, &bare).unwrap().groups().is_empty(), "{members}");
        }
    }

    #[test]
    fn an_address_that_is_not_verified_is_nobodys() {
        let by_email = Issuer { username_claim: EMAIL.to_owned(), ..settings() };
        let found = |verified: Value| {
            with(&json!({"email": "alice@example.com", "email_verified": verified}), &by_email).is_ok()
        };
        assert!(found(json!(true)) && found(json!("(none)")));
        assert!(!found(json!(false)) && !found(json!("true")) && !found(json!(null)));
        // Where it is not the name, it does not matter.
        assert!(with(&json!({"email_verified": false}), &settings()).is_ok());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 4, |inner| proptest::collection::vec(inner, 0..4).prop_map(Value::from))
    }

    proptest! {
        #[test]
        fn whoever_is_found_has_the_prefix_and_a_time_to_go(
            claims in proptest::collection::btree_map("sub|aud|exp|nbf|iat|groups", any_value(), 0..6),
        ) {
            let claims: Map<String, Value> = claims.into_iter().collect();
            if let Ok(found) = identify(&claims, &settings(), at(NOW)) {
                prop_assert!(found.user().starts_with("https://a.example.com#"));
                prop_assert!(found.groups().iter().all(|group| group.starts_with("https://a.example.com#")));
                prop_assert!(found.until().unwrap() > at(NOW));
            }
        }
    }
}
