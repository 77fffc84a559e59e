//! Writing YAML that [`parse`](crate::document::parse) and kubectl read as it was meant.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::json::Json;

/// A value that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(String);

/// Writes a value as a YAML document. Texts that kubectl or a reader of YAML 1.2 takes for something else are in quotes, and numbers keep all
/// the digits that [`serde_json`] writes.
///
/// # Errors
/// [`WriteError`] for a value that JSON can't hold, such as a map whose keys are no texts.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<String, WriteError> {
    let json = serde_json::to_string(value).map_err(|error| WriteError(error.to_string()))?;
    let tree = Json::read(&json).map_err(|error| WriteError(error.to_string()))?;
    let mark = mark(&json);
    let text = serde_saphyr::to_string(&Marked { value: &tree, mark: &mark })
        .map_err(|error| WriteError(error.to_string()))?;
    Ok(unmark(&text, &mark))
}

/// The word that a number begins with until the text is complete, as the writer below takes only numbers of the machine: none of the text.
fn mark(json: &str) -> String {
    let mut mark = "number".to_owned();
    while json.contains(&mark) {
        mark.push('n');
    }
    mark
}

/// Takes out the marks before numbers.
fn unmark(text: &str, mark: &str) -> String {
    text.replace(mark, "")
}

/// A value whose numbers are written as a mark and their digits.
struct Marked<'v> {
    value: &'v Json,
    mark: &'v str,
}

impl Serialize for Marked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mark = self.mark;
        match self.value {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => match number.parse::<i64>() {
                Ok(integer) if integer.to_string() == **number => serializer.serialize_i64(integer),
                _ => serializer.collect_str(&format_args!("{mark}{number}")),
            },
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    list.serialize_element(&Marked { value, mark })?;
                }
                list.end()
            }
            Json::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, &Marked { value, mark })?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_texts_stay_texts() {
        let raw = RawValue::from_string("[123456789012345678901234, 1.50, 12e4, -7]".to_owned()).unwrap();
        assert_eq!(write(&raw).unwrap(), "- 123456789012345678901234\n- 1.50\n- 12e4\n- -7\n");
        let texts = json!({"0755": "0755", "on": "no", "number": "number 1", "n": "12e4", "nothing": "", "tilde": "~"});
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&write(&texts).unwrap()).unwrap(), texts);
        for text in ["0755", "no", "12e4", "~", "y", "1_000", "0b1", "08", ".5"] {
            let written = write(text).unwrap();
            assert!(written.starts_with(['\'', '"']), "{written}");
        }
    }
}
