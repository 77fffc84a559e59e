//! JSON as BSON that people can read, and back to the letter.
//!
//! A document is kept by its fields where those give its text back: objects with their order, numbers, and names in which what
//! MongoDB does not allow is written as in a URL (`%2E` for a dot, `%24` for a dollar sign). What they don't give back (a number
//! with more digits than it needs, white space, a name twice, an array right in an array) is kept as text.

use std::fmt;

use mongodb::bson::{Bson, Document};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserializer, Serialize, Serializer};

/// The deepest nesting: MongoDB holds 100 levels, of which ours are some.
const DEPTH_MAX: usize = 90;

/// The fields of a document; none when they would not give its text back.
pub(super) fn fields(text: &str) -> Option<Bson> {
    let mut json = serde_json::Deserializer::from_str(text);
    let fields = Fields { depth: 0 }.deserialize(&mut json).ok()?;
    json.end().ok()?;
    let same = self::text(&fields).is_some_and(|again| again == text);
    same.then_some(fields)
}

/// The text of fields; none when they are nothing that we write.
pub(super) fn text(fields: &Bson) -> Option<String> {
    serde_json::to_string(&Json(fields)).ok()
}

/// A field's name as MongoDB allows it.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '.' => escaped.push_str("%2E"),
            '$' => escaped.push_str("%24"),
            '%' => escaped.push_str("%25"),
            '\0' => escaped.push_str("%00"),
            other => escaped.push(other),
        }
    }
    match escaped.as_str() {
        // A name must have something, and this one has a meaning.
        "" => "%".into(),
        "_id" => "%5Fid".into(),
        _ => escaped,
    }
}

fn unescaped(name: &str) -> String {
    match name {
        "%" => String::new(),
        "%5Fid" => "_id".into(),
        _ => name.replace("%2E", ".").replace("%24", "$").replace("%00", "\0").replace("%25", "%"),
    }
}

/// Reads JSON, with the order of its members.
#[derive(Clone, Copy)]
struct Fields {
    depth: usize,
}

impl Fields {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            return Err(E::custom("too deep"));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = Bson;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Bson, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Bson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Bson, E> {
        Ok(Bson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Bson, E> {
        Ok(Bson::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Bson, E> {
        Ok(i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Bson, E> {
        self.visit_i64(i64::try_from(value).map_err(E::custom)?)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Bson, E> {
        // Not every server tells it from a positive one.
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        if is_negative_zero { Err(E::custom("a negative zero")) } else { Ok(Bson::Double(value)) }
    }

    fn visit_str<E>(self, value: &str) -> Result<Bson, E> {
        Ok(Bson::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bson, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            // Not every server takes them.
            if matches!(item, Bson::Array(_)) {
                return Err(A::Error::custom("an array right in an array"));
            }
            array.push(item);
        }
        Ok(Bson::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Bson, A::Error> {
        let mut fields = Document::new();
        while let Some(name) = members.next_key::<String>()? {
            if fields.insert(escaped(&name), members.next_value_seed(self.deeper()?)?).is_some() {
                return Err(A::Error::custom("a name twice"));
            }
        }
        Ok(Bson::Document(fields))
    }
}

/// Writes fields as JSON.
struct Json<'a>(&'a Bson);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Bson::Null => serializer.serialize_unit(),
            Bson::Boolean(value) => serializer.serialize_bool(*value),
            Bson::Int32(value) => serializer.serialize_i32(*value),
            Bson::Int64(value) => serializer.serialize_i64(*value),
            Bson::Double(value) => serializer.serialize_f64(*value),
            Bson::String(value) => serializer.serialize_str(value),
            Bson::Array(items) => {
                let mut array = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| array.serialize_element(&Json(item)))?;
                array.end()
            }
            Bson::Document(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    object.serialize_entry(&unescaped(name), &Json(value))?;
                }
                object.end()
            }
            _ => Err(serde::ser::Error::custom("no JSON")),
        }
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_what_an_operator_reads() {
        let text = r#"{"schema":1,"quota":{"limits.cpu":"4","$x":null,"%2E":true},"big":5000000000,"share":0.5,"names":["a"]}"#;
        let expected = doc! {
            "schema": 1,
            "quota": { "limits%2Ecpu": "4", "%24x": null, "%252E": true },
            "big": 5_000_000_000_i64,
            "share": 0.5,
            "names": ["a"],
        };
        assert_eq!(fields(text), Some(Bson::Document(expected)));
    }

    #[test]
    fn what_fields_do_not_give_back_has_none() {
        let deep = format!("{}1{}", "[{\"a\":".repeat(50), "}]".repeat(50));
        for text in [
            "1.50",
            "1e3",
            "-0.0",
            "18446744073709551615",
            " {}",
            r#"{"a":1,"a":2}"#,
            r#""\u0041""#,
            "[[1]]",
            "{",
            &deep,
        ] {
            assert_eq!(fields(text), None, "{text}");
        }
    }

    /// Values without what fields don't give back.
    fn value() -> impl Strategy<Value = serde_json::Value> {
        let name =
            prop_oneof!["[a-z.$%]{0,6}", Just("_id".to_owned()), Just("%5Fid".to_owned()), any::<String>()];
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        let object = move |inner| prop::collection::btree_map(name.clone(), inner, 0..4);
        leaf.prop_recursive(4, 20, 4, move |inner| {
            let object = object(inner).prop_map(|members| members.into_iter().collect::<serde_json::Value>());
            prop_oneof![object.clone(), prop::collection::vec(object, 0..3).prop_map(Into::into)]
        })
    }

    proptest! {
        #[test]
        fn fields_give_the_text_back(value in value()) {
            let text = value.to_string();
            let fields = fields(&text).unwrap();
            prop_assert_eq!(super::text(&fields), Some(text));
        }
    }
}
