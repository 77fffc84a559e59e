//! What is answered is what the document says: each recorded answer, with its status, its headers and its whole body.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use dcm_rest::documented::{openapi, routes};
use jsonschema::Validator;
use regex::Regex;
use serde_json::{Value, json};

use crate::common::exchange::recorded;
use crate::common::routes::is_of;
use crate::rest::EXCHANGES;

/// What differs from run to run is recorded as a word: here is something that it stands for.
static WORDS: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let words = [
        (r"\bCLUSTER-UID\b", "01234567-89ab-cdef-0123-456789abcdef".to_owned()),
        (r"\bUID\b", "0123456789abcdef".to_owned()),
        (r"\bHASH\b", "0123456789abcdef".repeat(4)),
        (r"\bREVISION\b", "0123456789abcdef".repeat(2)),
        (r"\bTIME\b", "2026-01-01T00:00:00Z".to_owned()),
        (r"\bMOMENT\b", "20260101T000000.000000000Z".to_owned()),
    ];
    words.into_iter().map(|(word, text)| (Regex::new(word).unwrap(), text)).collect()
});

/// An answer, as it was recorded.
struct Answer {
    status: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let text = WORDS.iter().fold(text.to_owned(), |text, (word, stands_for)| {
            word.replace_all(&text, stands_for.as_str()).into_owned()
        });
        let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().unwrap().to_owned();
        let header =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { status, headers: lines.filter_map(header).collect(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// The document, in which nothing may be in an answer that it does not name.
fn closed() -> Value {
    let mut document = openapi();
    let mut parts = BTreeSet::new();
    find_parts(&document["components"], &mut parts);
    for place in ["schemas", "responses"] {
        for (name, schema) in document["components"][place].as_object_mut().unwrap() {
            if !parts.contains(&format!("#/components/{place}/{name}")) {
                close(schema);
            }
        }
    }
    document
}

/// Finds the references to schemas that are parts of others, which name more beside them.
fn find_parts(schema: &Value, parts: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keywords) => {
            if let (Some(Value::String(part)), true) =
                (keywords.get("$ref"), keywords.contains_key("properties"))
            {
                parts.insert(part.clone());
            }
            keywords.values().for_each(|one| find_parts(one, parts));
        }
        Value::Array(items) => items.iter().for_each(|one| find_parts(one, parts)),
        _ => {}
    }
}

/// Forbids what a schema does not name, but for those that are parts of others.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords.iter_mut() {
                match keyword.as_str() {
                    "allOf" | "anyOf" | "oneOf" | "if" | "then" | "else" | "not" => {}
                    _ => close(value),
                }
            }
            if keywords.get("properties").is_some_and(Value::is_object) && keywords.contains_key("type") {
                keywords.entry("unevaluatedProperties").or_insert(false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// What is behind a reference.
fn followed<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

fn validator(document: &Value, schema: &Value) -> Validator {
    let mut whole = schema.clone();
    whole["components"] = json!({"schemas": document["components"]["schemas"]});
    jsonschema::validator_for(&whole).unwrap()
}

/// What is wrong with an answer to an operation; nothing where it is as the document says.
fn differences(document: &Value, operation: &Value, answer: &Answer) -> Vec<String> {
    let Some(response) = operation["responses"].get(&answer.status) else {
        return vec![format!("{} is not declared", answer.status)];
    };
    let response = followed(document, response);
    let mut wrong = Vec::new();
    let declared = response["headers"].as_object().unwrap();
    for (name, header) in declared {
        let header = followed(document, header);
        // Ids of requests are not recorded.
        let is_missing =
            header["required"] == true && answer.header(name).is_none() && name != "X-Request-Id";
        wrong.extend(is_missing.then(|| format!("there is no {name}")));
        if let Some(value) = answer.header(name).filter(|_| header["schema"]["type"] == "string") {
            let is_of_form = validator(document, &header["schema"]).is_valid(&value.into());
            wrong.extend((!is_of_form).then(|| format!("{name} is not of its form: {value}")));
        }
    }
    let known: BTreeSet<String> = declared.keys().map(|name| name.to_lowercase()).collect();
    for name in ["etag", "location", "warning", "retry-after"] {
        let is_told = answer.header(name).is_some() && !known.contains(name);
        wrong.extend(is_told.then(|| format!("{name} is not declared")));
    }
    wrong.extend(of_body(document, &response["content"], answer));
    wrong
}

fn of_body(document: &Value, content: &Value, answer: &Answer) -> Vec<String> {
    if answer.body.is_empty() {
        // An answer to HEAD, or one that has none.
        return Vec::new();
    }
    let media_type = answer.header("content-type").unwrap_or_default().split(';').next().unwrap();
    let Some(of_type) = content.get(media_type) else {
        return vec![format!("{media_type:?} is not declared")];
    };
    let body: Value = match media_type {
        "application/json" | "application/problem+json" => serde_json::from_str(&answer.body).unwrap(),
        "application/yaml" => serde_saphyr::from_str(&answer.body).unwrap(),
        _ => answer.body.clone().into(),
    };
    let validator = validator(document, &of_type["schema"]);
    validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_recorded_answer_is_one_that_the_document_declares() {
    let document = closed();
    let routes = routes();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for file in EXCHANGES.files() {
        for (request, answer) in recorded(&file) {
            let (method, path) = request.lines().next().unwrap().split_once(' ').unwrap();
            let asked = if method == "HEAD" { "GET" } else { method };
            let route = routes.iter().find(|route| route.method() == asked && is_of(route.path(), path));
            // What is no route at all is in no document.
            let Some(route) = route else { continue };
            let operation = &document["paths"][route.path()][asked.to_lowercase()];
            let found = differences(&document, operation, &Answer::read(&answer));
            let name = file.file_name().unwrap().to_string_lossy();
            wrong.extend(found.into_iter().map(|told| format!("{name}: {method} {path}: {told}")));
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}: {wrong:#?}", wrong.len());
    assert!(checked > 300, "only {checked} answers were found");
}

#[test]
fn a_field_that_the_document_does_not_name_is_found() {
    let document = closed();
    let operation = &document["paths"]["/v2/projects/{project}"]["get"];
    let of = |body: &str| {
        let text = format!("200\ncontent-type: application/json\netag: \"REVISION\"\n\n{body}");
        differences(&document, operation, &Answer::read(&text)).len()
    };
    assert_eq!(of(r#"{"metadata": {"name": "shop"}}"#), 0);
    assert_eq!(of(r#"{"metadata": {"name": "shop"}, "spec": {}}"#), 1);
    assert_eq!(of(r#"{"metadata": {"name": 1}}"#), 1);
}
