//! Fields of objects, and who holds them: sets of fields as `metadata.managedFields` tells them (FieldsV1), paths to
//! fields, what of ours somebody else has taken, and where an object is not as desired.
//!
//! FieldsV1 is a tree. A member of it is `f:NAME` (a field), `k:{…}` (the item of a list that has these key values),
//! `v:…` (the item of a list that is this value) or `i:N` (the item at this place); `.` stands for the parent
//! itself, and a member without members of its own is itself in the set.

mod changes;
mod compare;
mod items;
mod owned;
mod ownership;
mod path;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use changes::{FieldChange, Values, changes};
pub use compare::{HeldField, altered, differing, lost, without};
pub use items::{Finder, Names, Spot, spots, take_out};
pub use owned::owned;
pub use ownership::{Ownership, UNRECORDED, entries, is_ours};
pub use path::{FieldPath, InvalidFieldPath};

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    /// A field of an object.
    Field(&'a str),
    /// The item of a list that has these values in its key fields.
    Key(Map<String, Value>),
    /// The item of a list of single values.
    Item(Value),
    /// The item at a place of a list.
    Index(usize),
}

impl<'a> Step<'a> {
    /// Reads one member name of FieldsV1; none for a form that we don't know.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (form, rest) = text.split_once(':')?;
        match form {
            "f" => Some(Self::Field(rest)),
            "k" => serde_json::from_str(rest).ok().map(Self::Key),
            "v" => serde_json::from_str(rest).ok().map(Self::Item),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// What this step leads to.
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Field(name) => value.get(name),
            _ => value.get(self.place(value)?),
        }
    }

    /// What this step leads to, to change it.
    pub fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        match self {
            Self::Field(name) => value.get_mut(name),
            _ => {
                let place = self.place(value)?;
                value.get_mut(place)
            }
        }
    }

    /// Takes out what this step leads to.
    pub fn remove(&self, value: &mut Value) {
        match self {
            Self::Field(name) => {
                if let Value::Object(members) = value {
                    members.remove(*name);
                }
            }
            _ => {
                if let (Some(place), Value::Array(items)) = (self.place(value), value) {
                    items.remove(place);
                }
            }
        }
    }

    /// The place in a list that this step means.
    fn place(&self, value: &Value) -> Option<usize> {
        self.places(value.as_array()?).next()
    }

    /// The places in a list that this step may mean, the first one first.
    fn places<'v>(&'v self, items: &'v [Value]) -> impl Iterator<Item = usize> + 'v {
        let is_meant = move |place: &usize| match self {
            Self::Field(_) => false,
            Self::Key(key) => has_key(&items[*place], key),
            Self::Item(wanted) => items[*place] == *wanted,
            Self::Index(index) => index == place,
        };
        (0..items.len()).filter(is_meant)
    }
}

/// True when a list's item has these key values.
pub fn has_key(item: &Value, key: &Map<String, Value>) -> bool {
    item.is_object() && key.iter().all(|(name, wanted)| is_key_value(name, item.get(name), Some(wanted)))
}

/// True when two items of a list agree in a key field. One that leaves it out has the API's default there: `TCP` for
/// the protocol of a port, the only one of the built-in kinds; for others it can't be known, and they agree.
pub fn is_key_value(name: &str, one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        (Some(value), None) | (None, Some(value)) => default_of(name).is_none_or(|default| value == default),
        (None, None) => true,
    }
}

/// The API's default of a key field, where it is known.
fn default_of(name: &str) -> Option<&'static str> {
    (name == "protocol").then_some("TCP")
}

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// The path up to here is in the set.
    pub member: bool,
    /// What is below, under the member names of FieldsV1.
    pub children: BTreeMap<String, Self>,
}

impl FieldSet {
    /// Reads a FieldsV1 object.
    pub fn read(fields: &Value) -> Self {
        let mut set = Self::default();
        for (name, below) in fields.as_object().into_iter().flatten() {
            if name == "." {
                set.member = true;
                continue;
            }
            let mut child = Self::read(below);
            child.member |= child.children.is_empty();
            set.children.insert(name.clone(), child);
        }
        set
    }

    /// Writes the FieldsV1 object.
    pub fn write(&self) -> Value {
        let mut fields = Map::new();
        if self.member && !self.children.is_empty() {
            fields.insert(".".into(), Value::Object(Map::new()));
        }
        for (name, child) in &self.children {
            fields.insert(name.clone(), child.write());
        }
        Value::Object(fields)
    }

    /// Adds another set.
    pub fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (name, child) in &other.children {
            self.children.entry(name.clone()).or_default().add(child);
        }
    }

    /// Adds another set that is not needed any more.
    pub fn absorb(&mut self, other: Self) {
        if self.children.is_empty() {
            self.children = other.children;
        } else {
            for (name, child) in other.children {
                self.children.entry(name).or_default().absorb(child);
            }
        }
        self.member |= other.member;
    }

    /// True when nothing is in it.
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.values().all(Self::is_empty)
    }

    /// What of this set the value has too.
    pub fn within(&self, value: &Value) -> Self {
        let mut kept = Self { member: self.member, children: BTreeMap::new() };
        let mut finder = Finder::new(value);
        for (name, child) in &self.children {
            let below =
                Step::parse(name).and_then(|step| finder.find(&step).map(|value| child.within(value)));
            if let Some(below) = below.filter(|below| !below.is_empty()) {
                kept.children.insert(name.clone(), below);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_form_of_a_step_finds_its_value() {
        let value = json!({
            "a:b": 1,
            "ports": [{"port": 80, "protocol": "TCP"}, {"port": 53}],
            "finalizers": ["x", "y"],
        });
        let table = [
            (&value, "f:a:b", Some(json!(1))),
            (&value, "f:c", None),
            (
                &value["ports"],
                r#"k:{"port":80,"protocol":"TCP"}"#,
                Some(json!({"port": 80, "protocol": "TCP"})),
            ),
            (&value["ports"], r#"k:{"port":80,"protocol":"UDP"}"#, None),
            (&value["ports"], r#"k:{"port":53,"protocol":"UDP"}"#, None),
            (&value["ports"], r#"k:{"port":53,"protocol":"TCP"}"#, Some(json!({"port": 53}))),
            (&value["ports"], r#"k:{"name":"x","port":53}"#, Some(json!({"port": 53}))),
            (&value["finalizers"], r#"v:"y""#, Some(json!("y"))),
            (&value["finalizers"], r#"v:"z""#, None),
            (&value["finalizers"], "i:0", Some(json!("x"))),
            (&value["finalizers"], "i:2", None),
        ];
        for (value, text, expected) in table {
            let step = Step::parse(text).unwrap();
            assert_eq!(step.find(value).cloned(), expected, "{text}");
            assert_eq!(step.find_mut(&mut value.clone()).cloned(), expected, "{text}");
        }
        for unknown in ["", "f", "x:1", "k:no", "v:no", "i:-1"] {
            assert_eq!(Step::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn what_is_read_is_written_again() {
        for fields in [
            json!({}),
            json!({"f:data": {"f:a": {}, "f:b": {}}}),
            json!({"f:data": {".": {}, "f:a": {}}}),
            json!({"f:spec": {"f:ports": {".": {}, "k:{\"port\":80}": {".": {}, "f:port": {}}}}}),
        ] {
            assert_eq!(FieldSet::read(&fields).write(), fields);
        }
    }

    #[test]
    fn what_the_value_lacks_is_left_out() {
        let set = FieldSet::read(&json!({
            "f:data": {".": {}, "f:a": {}, "f:gone": {}},
            "f:metadata": {"f:labels": {"f:gone": {}}},
            "f:list": {"v:\"x\"": {}, "v:\"gone\"": {}},
        }));
        let value = json!({"data": {"a": 1}, "metadata": {"labels": {}}, "list": ["x"]});
        let expected = json!({"f:data": {".": {}, "f:a": {}}, "f:list": {"v:\"x\"": {}}});
        assert_eq!(set.within(&value).write(), expected);
    }
}
