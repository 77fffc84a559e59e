//! The document that describes the documented dialect: it is current, it is OpenAPI, and nothing is missing in it.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;
use std::path::Path;

use dcm_rest::documented::{openapi, routes};
use serde_json::Value;

/// The variable in the environment with which the document is written anew.
const REGENERATE: &str = "DCM_REGENERATE_OPENAPI";

/// What an OpenAPI 3.1 document has to be: <https://spec.openapis.org/oas/3.1/schema/2022-10-07>, of the OpenAPI Initiative (Apache-2.0).
const OPENAPI: &str = include_str!("oas-3.1-schema-2022-10-07.json");

/// What is behind all references within a value.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// All operations with their paths and methods.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let of_path = |(path, item): (&String, &'_ Value)| (path.clone(), item.as_object().unwrap().clone());
    let named: Vec<_> = paths.map(of_path).collect();
    let methods = named.iter().flat_map(|(path, item)| {
        item.keys().filter(|key| *key != "parameters").map(move |method| (path.clone(), method.clone()))
    });
    let found = methods.map(|(path, method)| {
        let operation = &document["paths"][&path][&method];
        (path, method, operation)
    });
    found.collect()
}

#[test]
fn the_document_in_the_repository_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let current = format!("{:#}\n", openapi());
    if std::env::var_os(REGENERATE).is_some() {
        std::fs::write(file, current).unwrap();
    } else {
        let found = std::fs::read_to_string(file).unwrap();
        assert!(found == current, "with {REGENERATE}=1 in the environment it is written anew");
    }
}

#[test]
fn it_is_an_openapi_document_whose_schemas_are_json_schemas() {
    let document = openapi();
    let openapi = jsonschema::validator_for(&serde_json::from_str(OPENAPI).unwrap()).unwrap();
    let wrong: Vec<String> =
        openapi.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::validate(schema).is_ok(), "{name}");
    }
}

#[test]
fn what_is_referred_to_is_there_and_what_is_there_is_referred_to() {
    let document = openapi();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in &found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    for place in ["schemas", "responses", "headers", "parameters"] {
        for name in document["components"][place].as_object().unwrap().keys() {
            assert!(found.contains(&*format!("#/components/{place}/{name}")), "{place}: {name}");
            // The generator counts types that have one name.
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "two types are called {name}");
        }
    }
}

#[test]
fn every_route_is_described_and_every_name_in_its_path_is_a_parameter() {
    let document = openapi();
    let mut described: BTreeSet<(String, String)> = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let told = |name: &str| operation[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(told("summary") && told("description") && told("x-dcm-role"), "{method} {path}");
        let in_path = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let declared =
            parameters.iter().filter(|one| one["in"] == "path").map(|one| one["name"].as_str().unwrap());
        assert_eq!(in_path.collect::<BTreeSet<_>>(), declared.collect(), "{method} {path}");
        for one in &parameters {
            assert!(
                one["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{method} {path}: {one}"
            );
        }
        described.insert((method, path));
    }
    let routes = routes();
    let served = routes.iter().map(|route| (route.method().as_str().to_lowercase(), route.path().to_owned()));
    assert_eq!(described, served.collect());
}

#[test]
fn operations_have_names_of_their_own_and_collections_that_are_told() {
    let document = openapi();
    let mut names = BTreeSet::new();
    let tags: BTreeSet<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str()).collect();
    for (path, _, operation) in operations(&document) {
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}");
        assert!(tags.contains(&operation["tags"][0].as_str()), "{path}");
    }
}

#[test]
fn what_is_sent_and_known_as_a_whole_takes_nothing_else() {
    let document = openapi();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        if name.ends_with("Input") {
            assert_eq!(schema["additionalProperties"], false, "{name}");
        }
    }
}
