//! Reading JSON that has one meaning alone.

use std::fmt;

use dcm_core::logical_cloud::Pairs;
use serde::Deserialize as _;
use serde::de::{self, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Number, Value};

/// Puts the key-value pairs of a body, the member `kv` of its member `spec`, into what was read of it, in a form that
/// [`Pairs`] are read from without a loss.
///
/// # Errors
/// What is wrong, where the pairs are no list of maps.
pub(crate) fn keep_digits(body: &[u8], value: &mut Value) -> Result<(), serde_json::Error> {
    let Some(place) = value.pointer_mut("/spec/kv").filter(|kv| kv.is_array()) else { return Ok(()) };
    let mut found = None;
    Finder { names: &["spec", "kv"], found: &mut found }.deserialize(&mut Deserializer::from_slice(body))?;
    let Some(raw) = found else { return Ok(()) };
    let pairs: Pairs = raw.get().parse().map_err(serde_json::Error::custom)?;
    *place = pairs.as_json().into();
    Ok(())
}

/// Finds a list by the names that lead to it, in any case. A body that was read has it once.
struct Finder<'f> {
    names: &'static [&'static str],
    found: &'f mut Option<Box<RawValue>>,
}

impl<'de> DeserializeSeed<'de> for Finder<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if !self.names.is_empty() {
            return deserializer.deserialize_any(self);
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        // Beside the list there may be a null under another spelling.
        if raw.get().starts_with('[') {
            *self.found = Some(raw);
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Finder<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            match self.names {
                [name, names @ ..] if name.eq_ignore_ascii_case(&key) => {
                    members.next_value_seed(Finder { names, found: &mut *self.found })?;
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Reads a value. An object that has a key twice is refused: another library may take the other one.
///
/// # Errors
/// What is wrong, and where; no text of the input but such a key.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut deserializer = Deserializer::from_slice(bytes);
    let value = Reader(At::Root).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads the first value and passes over what is behind it, as readers of streams do.
///
/// # Errors
/// The same.
pub(crate) fn read_first(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    Reader(At::Root).deserialize(&mut Deserializer::from_slice(bytes))
}

/// 2⁵³: from here on an `f64` can't hold every integer, so one that is read as an `f64` may have been rounded. Such a number is refused, also
/// where it was written with a fraction or an exponent.
const INTEGERS_MAX: f64 = 9_007_199_254_740_992.0;

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The whole.
    Root,
    /// Its member `spec`.
    Spec,
    /// In the key-value pairs, whose numbers have any size.
    Pairs,
    /// Anywhere else.
    Elsewhere,
}

impl At {
    fn member(self, key: &str) -> Self {
        match self {
            Self::Root if key.eq_ignore_ascii_case("spec") => Self::Spec,
            Self::Spec if key.eq_ignore_ascii_case("kv") => Self::Pairs,
            Self::Pairs => Self::Pairs,
            _ => Self::Elsewhere,
        }
    }
}

#[derive(Clone, Copy)]
struct Reader(At);

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

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
        if self.0 != At::Pairs && value.abs() >= INTEGERS_MAX && value.fract() == 0.0 {
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
        let at = if self.0 == At::Pairs { At::Pairs } else { At::Elsewhere };
        while let Some(item) = items.next_element_seed(Self(at))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let member = members.next_value_seed(Self(self.0.member(&key)))?;
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
    fn the_numbers_of_key_value_pairs_keep_their_digits() {
        for text in [
            r#"{"spec": {"kv": [{"n": 123456789012345678901234, "x": [1.50, 12e4]}]}}"#,
            r#"{"Spec": {"KV": [{"n": 123456789012345678901234, "x": [1.50, 12e4]}], "kv": null}, "a": {"kv": []}}"#,
        ] {
            let mut value = read(text.as_bytes()).unwrap();
            let pairs = value
                .as_object_mut()
                .and_then(|body| body.values_mut().next()?.as_object_mut()?.values_mut().next().cloned());
            value = serde_json::json!({"spec": {"kv": pairs}});
            keep_digits(text.as_bytes(), &mut value).unwrap();
            let pairs = Pairs::deserialize(&value["spec"]["kv"]).unwrap();
            assert_eq!(pairs.as_json(), r#"[{"n":123456789012345678901234,"x":[1.50,12e4]}]"#);
        }
        for bad in [
            r#"{"kv": 12345678901234567890123}"#,
            r#"{"spec": {"spec": {"kv": 12345678901234567890123}}}"#,
            r#"{"spec": {"kv": [{"a": 1, "a": 2}]}}"#,
            r#"{"spec": {"kv": [{"a": 1e999}]}}"#,
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
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
