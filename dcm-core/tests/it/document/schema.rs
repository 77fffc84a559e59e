//! The published schema: current, and of one mind with the reader.

use std::path::PathBuf;

use dcm_core::document::{json_schema, to_json, to_yaml};
use jsonschema::Validator;
use serde_json::Value;

use super::{examples, read};

/// Set it to anything to write the schema anew instead of comparing it.
const WRITE: &str = "DCM_WRITE_SCHEMA";

pub(crate) fn validator() -> Validator {
    jsonschema::draft202012::new(json_schema()).unwrap()
}

fn value(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap()
}

#[test]
fn the_schema_that_is_checked_in_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas/logical-cloud.v1.json");
    let current = format!("{}\n", serde_json::to_string_pretty(json_schema()).unwrap());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == current,
        "run `{WRITE}=1 cargo test -p dcm-core --test it document::` and look at the difference"
    );
}

#[test]
fn the_schema_follows_its_own_draft_and_names_no_other_document() {
    assert!(jsonschema::draft202012::meta::is_valid(json_schema()));
    assert!(!json_schema().to_string().contains("$ref"));
}

#[test]
fn the_examples_and_what_is_written_of_them_are_valid() {
    let validator = validator();
    for name in examples::NAMES {
        let text = examples::text(name);
        let cloud = examples::cloud(read(&text).unwrap().remove(0));
        for text in [text, to_yaml(&cloud).unwrap(), to_json(&cloud).unwrap()] {
            let errors: Vec<String> =
                validator.iter_errors(&value(&text)).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{name}");
        }
    }
}
