//! What is written is read as the same; and no text is too much for the reader.

use dcm_core::document::{to_json, to_yaml};
use dcm_core::logical_cloud::LogicalCloud;
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::{examples, read};

/// Texts that are hard to write.
const TRAPS: &[&str] = &[
    "",
    " ",
    "~",
    "null",
    "yes",
    "No",
    "true",
    "0",
    "010",
    "0x1f",
    "1e3",
    "-.inf",
    "NaN",
    "1_000",
    "12:30:45",
    "2026-01-01",
    "- a",
    "a: b",
    "a #b",
    "#",
    "&a",
    "*a",
    "!a",
    "%a",
    "@a",
    "`a",
    "'",
    "\"",
    "[",
    "{",
    "|",
    ">",
    "?",
    "---",
    "...",
    "<<",
    "=",
    "\n",
    "a\n",
    "\na",
    " a\n  b\n",
    "a\r\nb",
    "\t",
    "a\tb",
    "\u{feff}",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "é",
    "😀",
    "\\",
    "a\\nb",
    "trailing ",
];

/// Texts that some reader of YAML takes for something else, and any others.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![proptest::sample::select(TRAPS).prop_map(str::to_owned), any::<String>(), "[ -~\n]{0,80}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| Number::from_f64(number).map(Value::Number)),
        text().prop_map(Value::String),
    ];
    scalar.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::btree_map(text(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn map() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::btree_map(text(), json_value(), 0..4).prop_map(|map| map.into_iter().collect())
}

prop_compose! {
    fn users_and_permissions()(
        users in proptest::collection::btree_map("[A-Za-z0-9][-A-Za-z0-9_.]{0,8}[A-Za-z0-9]", any::<(bool, Option<u16>)>(), 1..4),
        notes in text(),
        verbs in proptest::collection::vec("[a-z*]|get|list", 1..4),
        everywhere in any::<bool>(),
    ) -> Value {
        let names: Vec<&String> = users.keys().collect();
        let permission = json!({
            "name": names[0], "users": names, "apiGroups": ["", "apps"], "resources": ["pods", "pods/log"],
            "verbs": verbs, "clusterWide": everywhere, "description": notes,
        });
        let user = |(name, (token, lifetime)): (&String, &(bool, Option<u16>))| {
            let mut user = json!({"name": name, "type": if *token { "token" } else { "certificate" }});
            if let Some(lifetime) = lifetime {
                user["lifetimeSeconds"] = (600 + u32::from(*lifetime)).into();
                if !token && lifetime % 2 == 0 {
                    user["key"] = "rsa-3072".into();
                }
            }
            user
        };
        let users: Vec<Value> = users.iter().map(user).collect();
        json!({"users": users, "permissions": [permission]})
    }
}

prop_compose! {
    /// Any legal cloud, with what is written in it chosen to be hard to write.
    fn cloud()(
        spec in users_and_permissions(),
        notes in (text(), text(), text()),
        label in "([A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?)?",
        quantity in "[0-9]{1,6}(\\.[0-9]{1,3})?(m|k|M|Ki|Gi|e3)?",
        pairs in proptest::collection::vec(map(), 0..4),
        data in map(),
        selector in proptest::option::of("[a-z]{0,5}"),
    ) -> LogicalCloud {
        let mut spec = spec;
        spec["level"] = "privileged".into();
        spec["labels"] = json!({"example.com/label": label, "yes": "1"});
        spec["quotas"] = json!([{"name": "1e3", "hard": {"limits.cpu": quantity}}]);
        spec["clusters"] = json!([{"provider": "p", "cluster": "0x10", "loadBalancer": "::1"}, {"provider": "null", "cluster": "010"}]);
        spec["keyValues"] = json!([{"name": "kv", "kv": pairs}]);
        spec["manifests"] = json!([{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "c"}, "data": data}]);
        if let Some(value) = selector {
            spec["clusterSelector"] = json!({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": [value]}]});
        }
        let (description, one, two) = notes;
        let cut = |text: String| text.chars().take(500).collect::<String>();
        let metadata = json!({
            "name": "true", "description": cut(description), "userData1": cut(one), "userData2": cut(two),
        });
        // Through the stored form: there is no other way to a cloud that skips the document.
        let stored = json!({"project": "p", "uid": "0000000000000007", "metadata": metadata, "spec": spec});
        serde_json::from_value(stored).unwrap()
    }
}

fn read_back(text: &str) -> LogicalCloud {
    let mut documents = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(documents.len(), 1, "{text}");
    examples::cloud(documents.remove(0))
}

proptest! {
    #[test]
    fn a_cloud_that_is_written_is_read_as_an_equal_one(cloud in cloud()) {
        let yaml = to_yaml(&cloud).unwrap();
        prop_assert_eq!(&read_back(&yaml), &cloud, "{}", yaml);
        prop_assert_eq!(&read_back(&to_json(&cloud).unwrap()), &cloud);
    }

    #[test]
    fn what_is_written_is_valid_by_the_schema(cloud in cloud()) {
        let document: Value = serde_json::from_str(&to_json(&cloud).unwrap()).unwrap();
        let errors: Vec<String> = super::schema::validator().iter_errors(&document).map(|error| error.to_string()).collect();
        prop_assert_eq!(errors, Vec::<String>::new());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(bytes);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[-\\[\\]{}:,#&*!|>'\"%@`?\n\t ~<.a-c0-9é]{0,200}") {
        let _ = read(text);
    }

    #[test]
    fn no_mutation_of_an_example_makes_the_reader_panic(
        name in proptest::sample::select(&examples::NAMES[..]),
        places in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
    ) {
        let mut bytes = examples::text(name).into_bytes();
        for (place, byte, how) in places {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, b"\n\t -:[]{}&*!'\"|"[usize::from(byte) % 15]),
                _ => { bytes.remove(place); }
            }
        }
        if let Err(refused) = read(bytes) {
            prop_assert!(!refused.as_slice().is_empty());
        }
    }
}
