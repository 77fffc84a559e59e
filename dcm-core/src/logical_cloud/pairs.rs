//! Maps of any JSON, kept as they were written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json::Json;

/// An ordered list of maps with any JSON in them, whose numbers keep all the digits that they were written with.
///
/// Held as canonical JSON: without white space, the keys of each map sorted. Two lists are equal where their texts are, so `1.5` and `1.50` differ.
/// Read and written by [`serde_json`] alone, as other formats give no access to the digits of a number; [`yaml::write`](crate::yaml::write())
/// keeps them, and a [`Value`] holds them only as far as 64 bits do. A text with such JSON is read, too: a store that takes values gets it where a
/// number would lose digits.
///
/// ```
/// use dcm_core::logical_cloud::Pairs;
///
/// let pairs: Pairs = r#"[{"id": 123456789012345678901234, "code": "0815"}]"#.parse()?;
/// assert_eq!(pairs.as_json(), r#"[{"code":"0815","id":123456789012345678901234}]"#);
/// # Ok::<(), dcm_core::logical_cloud::InvalidPairs>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Pairs(Box<str>);

/// A text that is no list of maps in JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("key-value pairs are a list of mappings in JSON: {reason}")]
pub struct InvalidPairs {
    /// The rule that the text breaks.
    reason: String,
}

impl Pairs {
    /// The pairs as canonical JSON: an array of objects.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// True where the list has no maps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        &*self.0 == "[]"
    }

    /// The maps, with numbers as far as [`serde_json`] can hold them.
    #[must_use]
    pub fn to_maps(&self) -> Vec<Map<String, Value>> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// The value of a key in the first map that has it, as JSON.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Box<RawValue>> {
        let maps: Vec<BTreeMap<String, Box<RawValue>>> = serde_json::from_str(&self.0).ok()?;
        maps.into_iter().find_map(|mut map| map.remove(key))
    }

    /// A value from which these pairs can be read again: an array, or where a number of it would lose digits, a text with the JSON.
    #[cfg(any(feature = "pki", test))]
    pub(crate) fn to_value(&self) -> Value {
        let value = serde_json::from_str::<Value>(&self.0).unwrap_or_default();
        let mut held = String::with_capacity(self.0.len());
        crate::hash::write_canonical(&value, &mut held);
        if *held == *self.0 { value } else { Value::from(&*self.0) }
    }
}

impl Default for Pairs {
    fn default() -> Self {
        Self("[]".into())
    }
}

impl FromStr for Pairs {
    type Err = InvalidPairs;

    fn from_str(text: &str) -> Result<Self, InvalidPairs> {
        let json = Json::read(text).map_err(|error| InvalidPairs { reason: error.to_string() })?;
        let is_list =
            matches!(&json, Json::List(maps) if maps.iter().all(|map| matches!(map, Json::Object(_))));
        if !is_list {
            return Err(InvalidPairs { reason: "found something else".to_owned() });
        }
        let mut canonical = String::with_capacity(text.len());
        json.write_canonical(&mut canonical);
        Ok(Self(canonical.into()))
    }
}

impl From<Vec<Map<String, Value>>> for Pairs {
    fn from(maps: Vec<Map<String, Value>>) -> Self {
        let maps = maps.into_iter().map(Value::Object).collect();
        let mut canonical = String::new();
        crate::hash::write_canonical(&Value::Array(maps), &mut canonical);
        Self(canonical.into())
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = if raw.get().starts_with('"') {
            Cow::Owned(serde_json::from_str::<String>(raw.get()).map_err(de::Error::custom)?)
        } else {
            Cow::Borrowed(raw.get())
        };
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Pairs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Pairs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Map<String, Value>>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_the_digits_of_numbers_through_json_and_through_values() {
        for text in [
            r#"[{"a":1.50},{"b":[123456789012345678901234,-0,12e4]}]"#,
            r#"[{"a":"0815"}]"#,
            r#"[{"a":1}]"#,
            "[]",
        ] {
            let pairs: Pairs = text.parse().unwrap();
            assert_eq!(pairs.as_json(), text);
            assert_eq!(serde_json::to_string(&pairs).unwrap(), text);
            assert_eq!(serde_json::from_str::<Pairs>(text).unwrap(), pairs);
            assert_eq!(serde_json::from_value::<Pairs>(pairs.to_value()).unwrap(), pairs);
            assert_eq!(pairs.to_value().is_array(), !text.contains("1.50"));
            let value = pairs.get("a").map(|value| value.get().to_owned());
            assert_eq!(value, (text != "[]").then(|| text[6..text.find('}').unwrap()].to_owned()));
        }
    }

    #[test]
    fn anything_but_a_list_of_maps_is_refused() {
        for text in ["{}", "[1]", "[[]]", "[{}", "1", r#"[{"a":1,"a":2}]"#, r#"[{"a":1e999}]"#] {
            assert!(text.parse::<Pairs>().is_err(), "{text}");
            assert!(serde_json::from_str::<Pairs>(text).is_err(), "{text}");
        }
    }
}
