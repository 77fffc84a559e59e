//! Reading JSON that has one meaning alone.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a value. An object that has a key twice is refused: whoever reads it with another library may see the other one.
///
/// # Errors
/// What is wrong, and where; no text of the input but such a key.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).map(|Unambiguous(value)| value)
}

/// Reads the first value and passes over what is behind it, as readers of streams do.
///
/// # Errors
/// The same.
pub(crate) fn read_first(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter();
    match values.next() {
        Some(first) => first.map(|Unambiguous(value)| value),
        None => read(bytes),
    }
}

/// 2⁵³: from here on an `f64` can't hold every integer, so one that is read as an `f64` may have been rounded. Such a number is refused, also
/// where it was written with a fraction or an exponent.
const INTEGERS_MAX: f64 = 9_007_199_254_740_992.0;

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        if value.abs() >= INTEGERS_MAX && value.fract() == 0.0 {
            return Err(E::custom("an integer of more than 64 bits, or a number that is written as one"));
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Unambiguous(member))) = members.next_entry::<String, _>()? {
            if object.contains_key(&key) {
                let shown: String = key.chars().take(dcm_core::refusal::VALUE_SHOWN_MAX).collect();
                return Err(A::Error::custom(format_args!("the key {shown:?} is there twice")));
            }
            object.insert(key, member);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_it_is() {
        let text = r#"{"a": [null, true, -1, 18446744073709551615, 1.5, "x\n"], "b": {"a": {}}}"#;
        assert_eq!(read(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn what_is_behind_the_first_value_is_passed_over() {
        assert_eq!(read_first(br#" {"a": 1} [{"#).unwrap(), serde_json::json!({"a": 1}));
        for bad in ["", " ", r#"{"a": 1"#, r#"{"a": 1, "a": 1} {}"#] {
            assert!(read_first(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_has_two_readings_or_none_is_refused() {
        for (text, error) in [
            (r#"{"a": 1, "a": 2}"#, "the key \"a\" is there twice"),
            (r#"[{"x": {"b": 1, "b": 1}}]"#, "the key \"b\" is there twice"),
            ("", "EOF while parsing a value"),
            ("{} {}", "trailing characters"),
            (
                "12345678901234567890123",
                "an integer of more than 64 bits, or a number that is written as one",
            ),
            ("1e999", "number out of range"),
        ] {
            let told = read(text.as_bytes()).unwrap_err().to_string();
            assert!(told.starts_with(&format!("{error} at line 1 column ")), "{text}: {told}");
        }
        assert!(read(&[b'"', 0xff, b'"']).is_err());
        assert!(read("[".repeat(200).as_bytes()).unwrap_err().to_string().contains("recursion limit"));
    }
}
