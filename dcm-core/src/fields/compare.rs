//! A desired object beside the one that is there: what somebody else took of it, and where it is not as desired.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::items::{Names, Spot, spots, take_out};
use super::ownership::UNRECORDED;
use super::{FieldPath, FieldSet, Finder, Ownership, Step};
use crate::defaults;
use crate::manifest::GroupVersionKind;
use crate::port::answer::clean;
use crate::port::cluster::FIELD_MANAGER;

/// Members of an object that say which one it is, or that have an endpoint of their own: nobody holds them.
const OBJECT_UNHELD: [&str; 3] = ["f:apiVersion", "f:kind", "f:status"];

/// Members of `metadata` of which the same holds.
const METADATA_UNHELD: [&str; 2] = ["f:name", "f:namespace"];

/// A field of a desired object that is another's, or not as desired. Its value is not kept: it is nobody's business.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldField {
    /// Member names of FieldsV1 from the object down.
    steps: Box<[Box<str>]>,
    /// The manager that holds it; none when nobody does, as when it was removed.
    pub holder: Option<Arc<str>>,
}

impl HeldField {
    /// Where the field is; of an item of a list, where the list is.
    #[must_use]
    pub fn path(&self) -> FieldPath {
        FieldPath::of(self.steps.iter().filter_map(|step| step.strip_prefix("f:")))
    }

    /// True for a field that our own manager holds: it was changed under our name.
    #[must_use]
    pub fn is_under_our_name(&self) -> bool {
        self.holder.as_deref() == Some(FIELD_MANAGER)
    }

    /// The member names of FieldsV1 from the object down. They are the same for each holder of a field.
    #[must_use]
    pub fn place(&self) -> &[Box<str>] {
        &self.steps
    }
}

impl fmt::Display for HeldField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            Some(_) if self.is_under_our_name() => {
                write!(f, "{} was changed under our own field manager", self.path())
            }
            Some(holder) => write!(f, "{} is held by {}", self.path(), clean(holder)),
            None => write!(f, "{} is held by nobody", self.path()),
        }
    }
}

/// A body without these fields.
#[must_use]
pub fn without(mut body: Value, fields: &[HeldField]) -> Value {
    let mut set = FieldSet::default();
    for field in fields {
        let last =
            field.steps.iter().fold(&mut set, |set, step| set.children.entry(step.to_string()).or_default());
        last.member = true;
    }
    remove(&mut body, &set);
    body
}

/// Takes the members of a set out of a value.
fn remove(value: &mut Value, set: &FieldSet) {
    let mut gone = Vec::new();
    for (_, spot, below) in spots(value, set) {
        match spot {
            Spot::Member(name) if below.member => {
                value.as_object_mut().and_then(|members| members.remove(name));
            }
            Spot::Item(place) if below.member => gone.push(place),
            spot => {
                if let Some(value) = spot.get_mut(value) {
                    remove(value, below);
                }
            }
        }
    }
    take_out(value, gone);
}

/// The fields of `desired` that our manager holds no more in the object that is there. An object that does not tell who
/// holds what tells nothing; and what is left out by the API server, as it says nothing (`false`, an empty list), was
/// never held.
#[must_use]
pub fn lost(live: &Value, ownership: &Ownership, desired: &Value) -> Vec<HeldField> {
    if !ownership.is_told {
        return Vec::new();
    }
    let mut search = Search::default();
    search.lost(desired, &Place::of(live, ownership));
    search.found
}

/// The fields of `desired` that are missing in the object that is there or have another value, as the API server would
/// store them: with its defaults, and with quantities in their canonical form.
#[must_use]
pub fn differing(kind: &GroupVersionKind, live: &Value, desired: &Value) -> Vec<HeldField> {
    let mut filled = desired.clone();
    // What is no quantity differs from whatever is there.
    let _ = defaults::fill(kind, &mut filled);
    let ownership = Ownership::read(live);
    let mut search = Search::default();
    search.differing(&filled, &Place::of(live, &ownership));
    search.found
}

/// The fields of `desired` that our manager holds and that have other values in the object that is there, as the API
/// server would store them; with the values that they have, for a digest. None where there are no such fields. In an object
/// that does not tell who holds what, all fields count as ours.
#[must_use]
pub fn altered(
    kind: &GroupVersionKind,
    live: &Value,
    ownership: &Ownership,
    desired: &Value,
) -> Option<(Vec<HeldField>, Value)> {
    let mut filled = desired.clone();
    // What is no quantity differs from whatever is there.
    let _ = defaults::fill(kind, &mut filled);
    let of_ours = Some(OfOurs { is_told: ownership.is_told });
    let mut search = Search { of_ours, ..Search::default() };
    search.differing(&filled, &Place::of(live, ownership));
    let values = search.found.iter().zip(search.values);
    let values: Value = values.map(|(field, value)| Value::from(vec![json!(field.steps), value])).collect();
    (!search.found.is_empty()).then_some((search.found, values))
}

/// A place in the object that is there.
pub(super) struct Place<'a> {
    /// What is there.
    live: Option<&'a Value>,
    /// What we hold of it.
    ours: Option<&'a FieldSet>,
    /// What each other manager holds of it.
    others: Vec<(&'a str, &'a FieldSet)>,
}

impl<'a> Place<'a> {
    pub(super) fn of(live: &'a Value, ownership: &'a Ownership) -> Self {
        let others = ownership.others.iter().map(|(manager, fields)| (manager.as_str(), fields));
        // Anyone can write under the name of whoever was not recorded.
        let unrecorded = ownership.unrecorded_fields.iter().map(|fields| (UNRECORDED, fields));
        let others = others.chain(unrecorded).collect();
        Self { live: Some(live), ours: Some(&ownership.ours).filter(|ours| !ours.is_empty()), others }
    }

    /// Finds what is below.
    pub(super) fn finder(&self) -> Option<Finder<'a>> {
        self.live.map(Finder::new)
    }

    pub(super) fn below(&self, name: &str, finder: &mut Option<Finder<'a>>) -> Self {
        let child = |set: &'a FieldSet| set.children.get(name);
        Self {
            live: finder.as_mut().and_then(|finder| finder.find(&Step::parse(name)?)),
            ours: self.ours.and_then(child),
            others: self.others.iter().filter_map(|(manager, set)| Some((*manager, child(set)?))).collect(),
        }
    }

    fn sets(&self) -> impl Iterator<Item = &'a FieldSet> {
        self.ours.into_iter().chain(self.others.iter().map(|(_, set)| *set))
    }

    /// True for what is held as a whole, such as a list without keys, and never in parts.
    pub(super) fn is_one_value(&self) -> bool {
        self.sets().next().is_some() && self.sets().all(|set| set.children.is_empty())
    }

    /// The names under which the items of a list are known here; none for a list that is one value.
    pub(super) fn names_of(&self, items: &[Value]) -> Option<Vec<String>> {
        if items.is_empty() {
            return None;
        }
        let mut names = Names::of(self.sets().flat_map(|set| set.children.keys()));
        items.iter().map(|item| names.name(item)).collect()
    }
}

/// True for a value that says nothing: the API server leaves it out.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(given) => !given,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Where a search is, and what it has found.
#[derive(Default)]
struct Search {
    steps: Vec<Box<str>>,
    found: Vec<HeldField>,
    /// The values that are there in the fields that are found.
    values: Vec<Value>,
    /// Only what our manager holds, and what is there, is found.
    of_ours: Option<OfOurs>,
}

/// What our manager holds, also beside others: what one of these changes, it holds alone.
struct OfOurs {
    /// The object tells who holds what.
    is_told: bool,
}

impl OfOurs {
    fn has(&self, place: &Place<'_>) -> bool {
        let is_ours = place.ours.is_some() || !self.is_told;
        is_ours && place.live.is_some()
    }
}

impl Search {
    fn lost(&mut self, desired: &Value, place: &Place<'_>) {
        match desired {
            Value::Object(_) if self.is_at_item() && place.live.is_none() => self.lost_value(desired, place),
            Value::Object(members) if !members.is_empty() && !place.is_one_value() => {
                self.each_member(members, place, Self::lost);
            }
            Value::Array(items) => match place.names_of(items) {
                Some(names) => self.each_item(names, items, place, Self::lost),
                None => self.lost_value(desired, place),
            },
            _ => self.lost_value(desired, place),
        }
    }

    fn lost_value(&mut self, desired: &Value, place: &Place<'_>) {
        let is_gone = !says_nothing(desired) && place.live.is_none_or(says_nothing);
        // A map or list that lost its last member may still be held, and is empty.
        let is_emptied = is_gone && (desired.is_object() || desired.is_array());
        if place.ours.is_some() && !is_emptied {
            return;
        }
        // Others may put something into what we desire to be empty: that is theirs, and not ours that was taken.
        let is_taken = place.others.iter().any(|(_, set)| set.children.is_empty() || !says_nothing(desired));
        if is_taken || is_gone {
            self.find(place);
        }
    }

    fn differing(&mut self, desired: &Value, place: &Place<'_>) {
        match (desired, place.live) {
            (desired, None | Some(Value::Null)) if says_nothing(desired) => {}
            (desired, Some(live)) if desired == live => {}
            (Value::Object(members), Some(Value::Object(_))) if !place.is_one_value() => {
                self.each_member(members, place, Self::differing);
            }
            (Value::Array(items), Some(Value::Array(_))) => match place.names_of(items) {
                Some(names) => self.each_item(names, items, place, Self::differing),
                None => self.find(place),
            },
            _ => self.find(place),
        }
    }

    fn each_member(
        &mut self,
        members: &Map<String, Value>,
        place: &Place<'_>,
        visit: fn(&mut Self, &Value, &Place<'_>),
    ) {
        let mut finder = place.finder();
        for (name, member) in members {
            let step = format!("f:{name}");
            if self.is_held_by_somebody(&step) {
                let below = place.below(&step, &mut finder);
                self.enter(step, member, &below, visit);
            }
        }
    }

    fn each_item(
        &mut self,
        names: Vec<String>,
        items: &[Value],
        place: &Place<'_>,
        visit: fn(&mut Self, &Value, &Place<'_>),
    ) {
        let mut finder = place.finder();
        for (name, item) in names.into_iter().zip(items) {
            let below = place.below(&name, &mut finder);
            self.enter(name, item, &below, visit);
        }
    }

    fn enter(
        &mut self,
        step: String,
        desired: &Value,
        below: &Place<'_>,
        visit: fn(&mut Self, &Value, &Place<'_>),
    ) {
        self.steps.push(step.into());
        visit(self, desired, below);
        self.steps.pop();
    }

    /// True at the item of a list: what is not there is lost as a whole, with what tells it from others.
    fn is_at_item(&self) -> bool {
        self.steps.last().is_some_and(|step| step.starts_with("k:"))
    }

    fn is_held_by_somebody(&self, step: &str) -> bool {
        match self.steps.as_slice() {
            [] => !OBJECT_UNHELD.contains(&step),
            [above] if **above == *"f:metadata" => !METADATA_UNHELD.contains(&step),
            _ => true,
        }
    }

    fn find(&mut self, place: &Place<'_>) {
        if self.of_ours.as_ref().is_some_and(|ours| !ours.has(place)) {
            return;
        }
        let other = || place.others.first().map(|(manager, _)| *manager);
        let holder = if self.of_ours.is_some() { Some(FIELD_MANAGER) } else { other() };
        let holder = holder.map(Into::into);
        self.found.push(HeldField { steps: self.steps.as_slice().into(), holder });
        self.values.push(place.live.cloned().unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
