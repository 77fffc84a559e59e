//! Finds items of lists by the member names of FieldsV1, and the names by the items, without looking through the list for each.
//!
//! A tenant's objects have lists of any length and `managedFields` of any form: looking through them for each name would take the square of
//! their length.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{FieldSet, Step, default_of};

/// Shorter lists are looked through.
const SHORT: usize = 8;

/// Sets of key fields in one list at most; real lists have one. What has another one is not found.
const SHAPES_MAX: usize = 8;

/// Indexes of one set of key fields at most; where no item leaves a key field out there is one. What needs another one is not found.
const INDEXES_MAX: usize = 8;

/// The texts of the values that something has in some fields; none where it leaves one out and no default is known.
type Texts = Vec<Option<String>>;

/// Places of things that are alike, the first one last.
type Places = Vec<usize>;

/// The first place that is not taken.
fn first(places: &mut Places, taken: &BTreeSet<usize>) -> Option<usize> {
    while places.pop_if(|place| taken.contains(place)).is_some() {}
    places.last().copied()
}

/// Things by the values of their key fields. What leaves a field out agrees with whatever another has there
/// ([`is_key_value`](super::is_key_value)).
struct Keyed {
    fields: Vec<String>,
    /// By which fields they have.
    groups: BTreeMap<Vec<bool>, Vec<(Texts, usize)>>,
    /// Places of a group's things by their values in some of the fields.
    indexes: BTreeMap<[Vec<bool>; 2], BTreeMap<Texts, Places>>,
}

impl Keyed {
    fn by(fields: Vec<String>) -> Self {
        Self { fields, groups: BTreeMap::new(), indexes: BTreeMap::new() }
    }

    fn texts(&self, members: &Map<String, Value>) -> Texts {
        let text = |field: &String| {
            let value = members.get(field).map(Value::to_string);
            value.or_else(|| default_of(field).map(|value| Value::from(value).to_string()))
        };
        self.fields.iter().map(text).collect()
    }

    fn add(&mut self, members: &Map<String, Value>, place: usize) {
        let texts = self.texts(members);
        let has = texts.iter().map(Option::is_some).collect();
        self.groups.entry(has).or_default().push((texts, place));
    }

    /// The first that agrees with these members in all key fields and is not taken.
    fn find(&mut self, members: &Map<String, Value>, taken: &BTreeSet<usize>) -> Option<usize> {
        let wanted = self.texts(members);
        let Self { groups, indexes, .. } = self;
        let found = groups.iter().filter_map(|(has, group)| {
            let compared: Vec<bool> =
                has.iter().zip(&wanted).map(|(has, wanted)| *has && wanted.is_some()).collect();
            let only = |texts: &Texts| -> Texts {
                let some = texts.iter().zip(&compared);
                some.map(|(text, is_compared)| text.clone().filter(|_| *is_compared)).collect()
            };
            let id = [has.clone(), compared.clone()];
            if !indexes.contains_key(&id) {
                if indexes.len() >= INDEXES_MAX {
                    return None;
                }
                let mut index: BTreeMap<Texts, Places> = BTreeMap::new();
                for (texts, place) in group.iter().rev() {
                    index.entry(only(texts)).or_default().push(*place);
                }
                indexes.insert(id.clone(), index);
            }
            first(indexes.get_mut(&id)?.get_mut(&only(&wanted))?, taken)
        });
        found.min()
    }
}

/// Finds what is below a value.
pub struct Finder<'v> {
    value: &'v Value,
    keyed: Vec<Keyed>,
    items: Option<BTreeMap<String, Places>>,
    taken: BTreeSet<usize>,
}

impl<'v> Finder<'v> {
    /// Finds what is below this value. Costs nothing until a long list is looked through.
    #[must_use]
    pub fn new(value: &'v Value) -> Self {
        Self { value, keyed: Vec::new(), items: None, taken: BTreeSet::new() }
    }

    /// What this step leads to: as [`Step::find`].
    pub fn find(&mut self, step: &Step<'_>) -> Option<&'v Value> {
        match step {
            Step::Field(name) => self.value.get(name),
            _ => self.value.get(self.place(step)?),
        }
    }

    /// The place in a list that this step leads to.
    pub fn place(&mut self, step: &Step<'_>) -> Option<usize> {
        let items = self.value.as_array()?;
        if items.len() <= SHORT {
            return step.places(items).find(|place| !self.taken.contains(place));
        }
        match step {
            Step::Key(key) => {
                let known = self.keyed_by(items, key)?;
                self.keyed[known].find(key, &self.taken)
            }
            Step::Item(wanted) => {
                let index = self.items.get_or_insert_with(|| {
                    let mut index: BTreeMap<String, Places> = BTreeMap::new();
                    for (place, item) in items.iter().enumerate().rev() {
                        index.entry(item.to_string()).or_default().push(place);
                    }
                    index
                });
                first(index.get_mut(&wanted.to_string())?, &self.taken)
            }
            Step::Field(_) | Step::Index(_) => step.place(self.value),
        }
    }

    /// The same, and takes what is there: it is not found again.
    pub fn take(&mut self, step: &Step<'_>) -> Option<usize> {
        let place = self.place(step)?;
        self.taken.insert(place);
        Some(place)
    }

    /// Where the items are by the fields of this key.
    fn keyed_by(&mut self, items: &[Value], key: &Map<String, Value>) -> Option<usize> {
        let known = self.keyed.iter().position(|keyed| keyed.fields.iter().eq(key.keys()));
        if known.is_some() || self.keyed.len() >= SHAPES_MAX {
            return known;
        }
        let mut keyed = Keyed::by(key.keys().cloned().collect());
        for (place, item) in items.iter().enumerate() {
            item.as_object().into_iter().for_each(|members| keyed.add(members, place));
        }
        self.keyed.push(keyed);
        Some(self.keyed.len() - 1)
    }
}

/// Where a member of a set is in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot<'s> {
    /// Under this name in an object.
    Member(&'s str),
    /// At this place in a list.
    Item(usize),
}

impl Spot<'_> {
    /// What is there, to change it.
    pub fn get_mut(self, value: &mut Value) -> Option<&mut Value> {
        match self {
            Self::Member(name) => value.get_mut(name),
            Self::Item(place) => value.get_mut(place),
        }
    }
}

/// Where the members of a set are in a value, as far as it has them: their names, and what is below.
#[must_use]
pub fn spots<'s>(value: &Value, set: &'s FieldSet) -> Vec<(&'s str, Spot<'s>, &'s FieldSet)> {
    let mut finder = Finder::new(value);
    let spot = |(name, below): (&'s String, &'s FieldSet)| {
        let step = Step::parse(name)?;
        let spot = match step {
            Step::Field(name) => value.get(name).map(|_| Spot::Member(name)),
            _ => finder.place(&step).map(Spot::Item),
        };
        Some((name.as_str(), spot?, below))
    };
    set.children.iter().filter_map(spot).collect()
}

/// Takes items out of a list.
pub fn take_out(value: &mut Value, mut places: Vec<usize>) {
    places.sort_unstable();
    let Value::Array(items) = value else { return };
    let mut gone = places.into_iter().peekable();
    let mut place = 0;
    items.retain(|_| {
        let is_gone = gone.next_if_eq(&place).is_some();
        while gone.next_if_eq(&place).is_some() {}
        place += 1;
        !is_gone
    });
}

/// The names of a list's items in sets of fields.
#[derive(Default)]
pub struct Names<'s> {
    names: Vec<&'s str>,
    keyed: Vec<Keyed>,
    items: BTreeMap<String, usize>,
    /// The form of the first.
    form: Option<Form>,
}

/// How the items of a list are named.
enum Form {
    /// By the values of these fields.
    Key(Vec<String>),
    /// By themselves.
    Item,
}

impl<'s> Names<'s> {
    /// Reads the names of items among these.
    pub fn of(all: impl Iterator<Item = &'s String>) -> Self {
        let mut names = Self::default();
        for name in all {
            names.add(name);
        }
        names
    }

    fn add(&mut self, name: &'s str) {
        let place = self.names.len();
        let form = match Step::parse(name) {
            Some(Step::Key(key)) => {
                let fields: Vec<String> = key.keys().cloned().collect();
                let known = self.keyed.iter().position(|keyed| keyed.fields == fields);
                if known.is_none() {
                    if self.keyed.len() >= SHAPES_MAX {
                        return;
                    }
                    self.keyed.push(Keyed::by(fields.clone()));
                }
                let known = known.unwrap_or(self.keyed.len() - 1);
                self.keyed[known].add(&key, place);
                Form::Key(fields)
            }
            Some(Step::Item(value)) => {
                self.items.entry(value.to_string()).or_insert(place);
                Form::Item
            }
            Some(Step::Field(_) | Step::Index(_)) | None => return,
        };
        self.names.push(name);
        self.form.get_or_insert(form);
    }

    /// The name of an item, if the sets have it.
    pub fn known(&mut self, item: &Value) -> Option<&'s str> {
        let taken = BTreeSet::new();
        let by_key = item
            .as_object()
            .and_then(|members| self.keyed.iter_mut().filter_map(|keyed| keyed.find(members, &taken)).min());
        let as_item = self.items.get(&item.to_string()).copied();
        by_key.into_iter().chain(as_item).min().and_then(|place| self.names.get(place)).copied()
    }

    /// The name of an item; one that no set has gets a name like the first. None in a list whose items have no names.
    pub(super) fn name(&mut self, item: &Value) -> Option<String> {
        let known = self.known(item);
        let form = self.form.as_ref()?;
        Some(match (known, form) {
            (Some(known), _) => known.to_owned(),
            (None, Form::Item) => format!("v:{item}"),
            (None, Form::Key(fields)) => {
                let own = fields.iter().filter_map(|field| Some((field.clone(), item.get(field)?.clone())));
                format!("k:{}", Value::Object(own.collect()))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::has_key;
    use serde_json::json;

    /// The same numbers on every run.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }

        fn item(&mut self) -> Value {
            let mut item = json!({"value": self.below(3)});
            for (field, values) in
                [("port", [json!(53), json!(80)]), ("protocol", [json!("TCP"), json!("UDP")])]
            {
                let drawn = self.below(3);
                if let Some(value) = values.get(usize::try_from(drawn).unwrap()) {
                    item[field] = value.clone();
                }
            }
            if self.below(8) == 0 { json!("no object") } else { item }
        }

        fn key(&mut self) -> Map<String, Value> {
            loop {
                let item = self.item();
                let fields = item.as_object().into_iter().flatten().filter(|(name, _)| *name != "value");
                let key: Map<String, Value> =
                    fields.map(|(name, value)| (name.clone(), value.clone())).collect();
                if !key.is_empty() {
                    return key;
                }
            }
        }
    }

    #[test]
    fn what_is_found_in_a_long_list_is_what_looking_through_it_finds() {
        let mut draw = Draw(1);
        for _ in 0..500 {
            let items: Vec<Value> = (0..SHORT + 1 + 4).map(|_| draw.item()).collect();
            let list = Value::Array(items.clone());
            let mut finder = Finder::new(&list);
            for _ in 0..10 {
                let steps =
                    [Step::Key(draw.key()), Step::Item(draw.item()), Step::Index(3), Step::Field("a")];
                for step in steps {
                    assert_eq!(finder.find(&step), step.find(&list), "{step:?} {list}");
                }
            }
        }
    }

    #[test]
    fn an_item_has_the_first_name_that_means_it() {
        let mut draw = Draw(2);
        for _ in 0..500 {
            let keys: Vec<Map<String, Value>> = (0..6).map(|_| draw.key()).collect();
            let texts: Vec<String> =
                keys.iter().map(|key| format!("k:{}", Value::Object(key.clone()))).collect();
            let mut names = Names::of(texts.iter());
            for _ in 0..10 {
                let item = draw.item();
                let known = keys.iter().position(|key| has_key(&item, key));
                match known {
                    Some(known) => {
                        assert_eq!(names.name(&item).as_ref(), texts.get(known), "{item} {texts:?}");
                    }
                    None => assert!(names.name(&item).unwrap().starts_with("k:{"), "{item}"),
                }
            }
        }
    }

    #[test]
    fn shapes_beyond_the_limit_find_nothing_and_cost_nothing() {
        let names: Vec<String> = (0..SHAPES_MAX + 3).map(|number| format!("k:{{\"a{number}\":1}}")).collect();
        let mut known = Names::of(names.iter());
        assert_eq!(known.keyed.len(), SHAPES_MAX);
        assert_eq!(known.name(&json!({"a0": 1})).as_deref(), Some("k:{\"a0\":1}"));
        let list = Value::Array(vec![json!({"a0": 1}); SHORT + 1]);
        let mut finder = Finder::new(&list);
        for (number, name) in names.iter().enumerate() {
            let found = finder.find(&Step::parse(name).unwrap());
            assert_eq!(found.is_some(), number < SHAPES_MAX, "{name}");
        }
    }
}
