//! Reading JSON that has one meaning alone.

use std::cell::RefCell;
use std::fmt;

use dcm_core::logical_cloud::Pairs;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// A value, and its key-value pairs with all digits of their numbers.
pub(crate) struct Read {
    /// The value.
    pub(crate) value: Value,
    /// The member `kv` of the member `spec`, as it is written.
    pairs: Option<Box<RawValue>>,
}

impl Read {
    /// Puts the key-value pairs into a value in a form that [`Pairs`] is read from without a loss. Only for one of the right shape: a list.
    pub(crate) fn keep_digits(&self, value: &mut Value) {
        let Some(place) = value.pointer_mut("/spec/kv").filter(|kv| kv.is_array()) else { return };
        if let Some(Ok(pairs)) = self.pairs.as_ref().map(|raw| raw.get().parse::<Pairs>()) {
            *place = pairs.as_json().into();
        }
    }
}

/// Reads a value. An object that has a key twice is refused: another library may take the other one.
///
/// # Errors
/// What is wrong, and where; no text of the input but such a key.
pub(crate) fn read(bytes: &[u8]) -> Result<Read, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = read_one(&mut deserializer)?;
    deserializer.end()?;
    Ok(read)
}

/// Reads the first value and passes over what is behind it, as readers of streams do.
///
/// # Errors
/// The same.
pub(crate) fn read_first(bytes: &[u8]) -> Result<Read, serde_json::Error> {
    read_one(&mut serde_json::Deserializer::from_slice(bytes))
}

fn read_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Read, D::Error> {
    let pairs = RefCell::new(None);
    let value = Reader { at: At::Root, pairs: &pairs }.deserialize(deserializer)?;
    Ok(Read { value, pairs: pairs.into_inner() })
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
struct Reader<'r> {
    at: At,
    pairs: &'r RefCell<Option<Box<RawValue>>>,
}

impl Reader<'_> {
    fn within(self, at: At) -> Self {
        Self { at, ..self }
    }

    /// Reads a member of an object.
    fn member<'de, A: MapAccess<'de>>(self, key: &str, members: &mut A) -> Result<Value, A::Error> {
        let at = self.at.member(key);
        if at != At::Pairs || self.at == At::Pairs {
            return members.next_value_seed(self.within(at));
        }
        let raw = members.next_value::<Box<RawValue>>()?;
        let value = self.within(at).deserialize(&mut serde_json::Deserializer::from_str(raw.get()));
        self.pairs.replace(Some(raw));
        value.map_err(Error::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
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
        if self.at != At::Pairs && value.abs() >= INTEGERS_MAX && value.fract() == 0.0 {
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
        let at = if self.at == At::Pairs { At::Pairs } else { At::Elsewhere };
        while let Some(item) = items.next_element_seed(self.within(at))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let member = self.member(&key, &mut members)?;
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
    use serde::Deserialize;

    use super::*;

    #[test]
    fn json_is_read_as_it_is() {
        let text = r#"{"a": [null, true, -1, 18446744073709551615, 1.5, "x\n"], "b": {"a": {}}}"#;
        assert_eq!(read(text.as_bytes()).unwrap().value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn the_numbers_of_key_value_pairs_keep_their_digits() {
        for text in [
            r#"{"spec": {"kv": [{"n": 123456789012345678901234, "x": [1.50, 12e4]}]}}"#,
            r#"{"Spec": {"KV": [{"n": 123456789012345678901234, "x": [1.50, 12e4]}]}}"#,
        ] {
            let read = read(text.as_bytes()).unwrap();
            let mut value = serde_json::json!({"spec": {"kv": []}});
            read.keep_digits(&mut value);
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
        assert_eq!(read_first(br#" {"a": 1} [{"#).unwrap().value, serde_json::json!({"a": 1}));
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
            let told = read(text.as_bytes()).err().unwrap().to_string();
            assert!(told.starts_with(&format!("{error} at line 1 column ")), "{text}: {told}");
        }
        assert!(read(&[b'"', 0xff, b'"']).is_err());
        assert!(read("[".repeat(200).as_bytes()).err().unwrap().to_string().contains("recursion limit"));
    }
}
