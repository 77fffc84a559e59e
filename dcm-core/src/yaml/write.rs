//! Writing YAML that [`parse`](crate::document::parse) and kubectl read as it was meant.

use std::cell::RefCell;

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
    let numbers = Numbers { mark: mark(&json), digits: RefCell::default() };
    let text = serde_saphyr::to_string(&Marked { value: &tree, numbers: &numbers })
        .map_err(|error| WriteError(error.to_string()))?;
    Ok(numbers.put_into(&text))
}

/// A word that no text of the JSON has: `number`, and one `n` more than follow it anywhere.
fn mark(json: &str) -> String {
    let runs = json
        .match_indices("number")
        .map(|(at, word)| json[at + word.len()..].bytes().take_while(|byte| *byte == b'n').count());
    format!("number{}", "n".repeat(runs.max().map_or(0, |longest| longest + 1)))
}

/// The numbers that the writer of YAML does not take as they are. It is given words in their place.
struct Numbers<'v> {
    mark: String,
    digits: RefCell<Vec<&'v str>>,
}

impl<'v> Numbers<'v> {
    /// The word for one more number.
    fn word(&self, number: &'v str) -> String {
        let mut digits = self.digits.borrow_mut();
        digits.push(number);
        format!("{}{}x", self.mark, digits.len() - 1)
    }

    /// Puts the numbers in the places of their words.
    fn put_into(&self, text: &str) -> String {
        let digits = self.digits.borrow();
        let mut parts = text.split(self.mark.as_str());
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (index, rest) = part.split_once('x').unwrap_or((part, ""));
            whole.push_str(
                index.parse().ok().and_then(|index: usize| digits.get(index).copied()).unwrap_or_default(),
            );
            whole.push_str(rest);
        }
        whole
    }
}

/// A value in which some numbers are words.
struct Marked<'v, 'n> {
    value: &'v Json,
    numbers: &'n Numbers<'v>,
}

impl Serialize for Marked<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = self.numbers;
        match self.value {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => match number.parse::<i64>() {
                Ok(integer) if integer.to_string() == **number => serializer.serialize_i64(integer),
                _ => serializer.serialize_str(&numbers.word(number)),
            },
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    list.serialize_element(&Marked { value, numbers })?;
                }
                list.end()
            }
            Json::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, &Marked { value, numbers })?;
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
        for length in [74, 75, 300] {
            let number = "1".repeat(length);
            let raw = RawValue::from_string(format!(r#"{{"numbernn": [{number}, "number0x"]}}"#)).unwrap();
            assert_eq!(write(&raw).unwrap(), format!("numbernn:\n- {number}\n- number0x\n"));
        }
        let texts = json!({"0755": "0755", "on": "no", "number": "number 1", "n": "12e4", "nothing": "", "tilde": "~"});
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&write(&texts).unwrap()).unwrap(), texts);
        for text in ["0755", "no", "12e4", "~", "y", "1_000", "0b1", "08", ".5"] {
            let written = write(text).unwrap();
            assert!(written.starts_with(['\'', '"']), "{written}");
        }
    }
}
