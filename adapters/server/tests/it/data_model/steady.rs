//! What differs from run to run, taken out of a document: keys, certificates and what is encrypted, and the hashes of all these.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Shortest run of hexadecimal digits that is taken for a hash: records and paths shorten theirs to 32 digits.
const HASH_DIGITS_MIN: usize = 32;

/// The document with a placeholder in place of everything that is made from randomness which no seed repeats: what is sealed,
/// PEM, and hashes, as some cover a request for a certificate. All else is as it was stored, times and identities included. The
/// members are sorted by name.
pub(crate) fn steady(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(steady_text(text)),
        Value::Array(items) => items.iter().map(steady).collect(),
        Value::Object(members) if members.contains_key("$sealed") => {
            let key = &members["$sealed"]["key"];
            json!({"$sealed": {"data": "<base64>", "key": key, "nonce": "<base64>"}})
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (steady_text(name), steady(value)));
            Value::Object(members.collect::<BTreeMap<_, _>>().into_iter().collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The same for a text: a value, a member's name or a path.
pub(crate) fn steady_text(text: &str) -> String {
    if let Some(label) = text.strip_prefix("-----BEGIN ").and_then(|rest| rest.split("-----").next()) {
        return format!("<{}, PEM>", label.to_lowercase());
    }
    let mut steady = String::new();
    for part in text.split_inclusive(|character: char| !character.is_ascii_hexdigit()) {
        let digits = part.trim_end_matches(|character: char| !character.is_ascii_hexdigit());
        match digits.len() {
            HASH_DIGITS_MIN.. => steady.extend(["<hash>", &part[digits.len()..]]),
            _ => steady += part,
        }
    }
    steady
}

#[test]
fn only_what_no_seed_repeats_gets_a_placeholder() {
    let table = [
        ("3-0123456789abcdef0123456789abcdef/x", "3-<hash>/x"),
        ("-----BEGIN CERTIFICATE REQUEST-----\nMII=\n", "<certificate request, PEM>"),
        ("dcm-team-0123456789abcdef", "dcm-team-0123456789abcdef"),
        ("01234567-0123-0123-0123-0123456789ab", "01234567-0123-0123-0123-0123456789ab"),
        ("2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:00.000000001Z"),
        ("", ""),
    ];
    for (text, expected) in table {
        assert_eq!(steady_text(text), expected);
    }
    let sealed = json!({"a": [{"$sealed": {"key": "k1", "nonce": "x", "data": "y"}}], "b": 1});
    let expected =
        json!({"a": [{"$sealed": {"key": "k1", "nonce": "<base64>", "data": "<base64>"}}], "b": 1});
    assert_eq!(steady(&sealed), expected);
}
