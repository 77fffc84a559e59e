//! The shape of a document: what it says it is, and its fields by the published schema.

use serde_json::{Map, Value};

use crate::refusal::{Checks, Path, Refusals};
use crate::shape;

use super::schema::json_schema;
use super::{API_VERSION, KIND};

/// One refusal.
pub(super) fn refusal(at: &Path, rule: &str) -> Refusals {
    let mut checks = Checks::default();
    checks.refuse(at, "", rule);
    match checks.finish(None::<()>) {
        Err(refusals) => refusals,
        Ok(()) => unreachable!("there is a refusal"),
    }
}

/// Checks a document's shape.
pub(super) fn check(document: &Value) -> Result<(), Refusals> {
    let Value::Object(members) = document else {
        return Err(refusal(
            &Path::root(),
            "a document must be a mapping, with apiVersion, kind, metadata and spec",
        ));
    };
    let mut checks = Checks::default();
    header(members, "apiVersion", API_VERSION, &mut checks);
    header(members, "kind", KIND, &mut checks);
    // Another kind of document has other fields: to name them all would hide what is wrong.
    checks.finish(Some(()))?;
    shape::check(json_schema(), document)
}

fn header(members: &Map<String, Value>, field: &str, wanted: &str, checks: &mut Checks) {
    let found = members.get(field);
    if found.and_then(Value::as_str) != Some(wanted) {
        let shown = found.and_then(|found| found.as_str().map(str::to_owned).or_else(|| shape::shown(found)));
        checks.refuse(&Path::root().field(field), &shown.unwrap_or_default(), format!("must be {wanted}"));
    }
}
