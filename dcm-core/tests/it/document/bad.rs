//! Every bad document gives its errors, all of them, with place, path, value and rule.

use serde_json::Value;

use super::bad_documents::{SeenBy, table};
use super::read;

/// Fewest rows that the table is to have.
const ROWS_MIN: usize = 70;

#[test]
fn every_bad_document_is_refused_with_all_that_is_wrong_in_it() {
    let table = table();
    assert!(table.len() >= ROWS_MIN);
    let mut wrong = Vec::new();
    for row in table {
        let shown: Vec<String> = match read(&row.text) {
            Ok(_) => Vec::new(),
            Err(refused) => refused.as_slice().iter().map(ToString::to_string).collect(),
        };
        if shown.is_empty() || shown != row.refusals {
            wrong.push(format!("{}: {shown:#?}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_schema_refuses_the_bad_documents_that_a_schema_can() {
    let validator = super::schema::validator();
    for row in table() {
        let value: Option<Value> =
            std::str::from_utf8(&row.text).ok().and_then(|text| serde_saphyr::from_str(text).ok());
        let is_refused = value.is_some_and(|value| !validator.is_valid(&value));
        assert_eq!(is_refused, row.seen_by == SeenBy::Schema, "{}", row.name);
    }
}

#[test]
fn each_row_of_the_table_has_a_name_of_its_own() {
    let mut names: Vec<&str> = table().into_iter().map(|row| row.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
