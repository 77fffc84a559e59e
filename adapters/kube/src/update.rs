//! How an object is brought to its desired state: the decision and the bodies, without a server.
//!
//! Server-side apply removes what an earlier *apply* of ours said and this one does not. It does not remove what we
//! wrote by *create* (the API server keeps those fields under an entry of its own, with the operation `Update`). So:
//! - when such fields are to go, the object is replaced ([`Way::Replace`]): the object as it is, without what we
//!   said and no longer say, with what the manifest says;
//! - else it is applied ([`Way::Apply`]).
//!
//! Either way the write carries the observed `resourceVersion`, so what is decided here holds when it arrives. That is
//! also why a conflict with others may be looked for here, where the API server would name one that is none: with our
//! own `Update` entry, and with its [`UNRECORDED`](dcm_core::fields::UNRECORDED) one for what nobody holds. An apply
//! over those is forced.
//!
//! An entry of another API version is read as if it were of this one: versions that are served side by side mostly name
//! their fields the same.

use dcm_core::fields::{FieldSet, Finder, Names, Ownership, Spot, Step, entries, is_ours, spots, take_out};
use dcm_core::port::cluster::Error;
use serde_json::{Value, json};

/// How to write.
#[derive(Debug, PartialEq)]
pub(crate) enum Way {
    /// Server-side apply of the manifest.
    Apply {
        /// Whether the API server is to take fields over from other entries.
        force: bool,
    },
    /// A full replacement by this body.
    Replace(Value),
}

/// Decides how to bring `live` to what `manifest` says.
///
/// # Errors
/// [`Error::FieldConflict`] when another manager holds a field that the manifest would change, without `force`.
pub(crate) fn choose(live: &Value, manifest: &Value, force: bool) -> Result<Way, Error> {
    let ownership = Ownership::read(live);
    if ownership.updated.is_empty() && !ownership.has_unrecorded() {
        return Ok(Way::Apply { force });
    }
    if !force {
        refuse_conflicts(live, manifest, &ownership)?;
    }
    // What nobody is recorded for would hold a field of ours, too.
    let left = if ownership.has_unrecorded() { &ownership.ours } else { &ownership.updated };
    if leaves_behind(left, live, manifest) {
        Ok(Way::Replace(replacement(live, manifest, &ownership)))
    } else {
        Ok(Way::Apply { force: true })
    }
}

/// The body of a server-side apply: the manifest, and the object state that it is meant for.
pub(crate) fn apply_body(mut manifest: Value, uid: &str, resource_version: &str) -> Value {
    manifest["metadata"]["uid"] = uid.into();
    manifest["metadata"]["resourceVersion"] = resource_version.into();
    manifest
}

/// True when the set has a field that the live object has and the manifest has not.
fn leaves_behind(set: &FieldSet, live: &Value, manifest: &Value) -> bool {
    let (mut live, mut manifest) = (Finder::new(live), Finder::new(manifest));
    set.children.iter().any(|(name, below)| {
        let Some(step) = Step::parse(name) else {
            return false;
        };
        let Some(live) = live.find(&step) else { return false };
        manifest.find(&step).is_none_or(|manifest| leaves_behind(below, live, manifest))
    })
}

fn refuse_conflicts(live: &Value, manifest: &Value, ownership: &Ownership) -> Result<(), Error> {
    let shape = ownership.shape();
    for (manager, fields) in &ownership.others {
        let found = conflict(fields, &shape, live, manifest);
        if let Some(field) = found {
            return Err(Error::FieldConflict { manager: manager.clone(), field });
        }
    }
    Ok(())
}

/// Path of the first field in the set that the manifest says otherwise than the live object.
fn conflict(set: &FieldSet, shape: &FieldSet, live: &Value, manifest: &Value) -> Option<String> {
    let (mut live, mut manifest) = (Finder::new(live), Finder::new(manifest));
    set.children.iter().find_map(|(name, below)| {
        let step = Step::parse(name)?;
        let shape = shape.children.get(name)?;
        let (live, manifest) = (live.find(&step)?, manifest.find(&step)?);
        let path = if shape.children.is_empty() {
            (live != manifest).then(String::new)?
        } else {
            conflict(below, shape, live, manifest)?
        };
        Some(match step {
            Step::Field(field) => format!(".{field}{path}"),
            _ => format!("[{}]{path}", &name[2..]),
        })
    })
}

fn replacement(live: &Value, manifest: &Value, ownership: &Ownership) -> Value {
    let mut body = live.clone();
    remove(&mut body, &ownership.ours, &ownership.others_together(), Some(manifest));
    merge(&mut body, manifest, Some(&ownership.shape()));
    body["metadata"]["managedFields"] = managed_fields(live, manifest, &ownership.ours);
    body
}

/// Takes out what is in our set and not in the manifest, unless somebody else holds it too.
pub(crate) fn remove(value: &mut Value, ours: &FieldSet, others: &FieldSet, manifest: Option<&Value>) {
    let nobody = FieldSet::default();
    let (mut wanted, mut gone) = (manifest.map(Finder::new), Vec::new());
    for (name, spot, below) in spots(value, ours) {
        // A list that is told by places is one value for us: taking out an item would move the others.
        let Some(step) = Step::parse(name).filter(|step| !matches!(step, Step::Index(_))) else {
            continue;
        };
        let others = others.children.get(name).unwrap_or(&nobody);
        let wanted = wanted.as_mut().and_then(|wanted| wanted.find(&step));
        match spot {
            Spot::Item(place) if wanted.is_none() && others.is_empty() && below.member => gone.push(place),
            Spot::Member(name) if wanted.is_none() && others.is_empty() && below.member => {
                value.as_object_mut().and_then(|members| members.remove(name));
            }
            spot => {
                if let Some(value) = spot.get_mut(value) {
                    remove(value, below, others, wanted);
                    restore_key(value, &step);
                }
            }
        }
    }
    take_out(value, gone);
}

/// An item that stays keeps what tells it from the others, also when the manifest leaves that to the default.
fn restore_key(value: &mut Value, step: &Step<'_>) {
    if let (Step::Key(key), Value::Object(members)) = (step, value) {
        for (name, value) in key {
            members.entry(name.as_str()).or_insert_with(|| value.clone());
        }
    }
}

/// Sets what the manifest says. Objects merge, lists with keys merge by key, lists of single values are joined, and
/// everything else is replaced.
fn merge(value: &mut Value, manifest: &Value, shape: Option<&FieldSet>) {
    let below = |name: &str| shape.and_then(|shape| shape.children.get(&format!("f:{name}")));
    let one_value = shape.is_some_and(|shape| shape.children.is_empty());
    match (value, manifest) {
        (Value::Object(members), Value::Object(wanted)) if !one_value => {
            for (name, wanted) in wanted {
                merge(members.entry(name.as_str()).or_insert(Value::Null), wanted, below(name));
            }
        }
        (Value::Array(items), Value::Array(wanted)) if !one_value => {
            let merged = merge_items(std::mem::take(items), wanted, shape);
            *items = merged;
        }
        (value, wanted) => *value = wanted.clone(),
    }
}

/// The manifest's items in its order, each over its live one, then the live ones that are left.
fn merge_items(live: Vec<Value>, wanted: &[Value], shape: Option<&FieldSet>) -> Vec<Value> {
    let (Some(identity), Some(shape)) = (Identity::of_items(shape), shape) else {
        return wanted.to_vec();
    };
    let live = Value::Array(live);
    let mut finder = Finder::new(&live);
    let places: Vec<Option<usize>> = wanted.iter().map(|item| finder.take(&identity.step(item)?)).collect();
    let Value::Array(live) = live else { return wanted.to_vec() };
    let mut live: Vec<Option<Value>> = live.into_iter().map(Some).collect();
    let mut names = Names::of(shape.children.keys());
    let mut merged = Vec::with_capacity(wanted.len() + live.len());
    for (item, place) in wanted.iter().zip(places) {
        let mut value = place.and_then(|place| live[place].take()).unwrap_or_default();
        let below = names.known(&value).filter(|_| value.is_object());
        merge(&mut value, item, below.and_then(|name| shape.children.get(name)));
        merged.push(value);
    }
    merged.extend(live.into_iter().flatten());
    merged
}

/// What makes two items of a list the same item.
enum Identity {
    /// Being the same value.
    Value,
    /// The values of these fields.
    Fields(Vec<String>),
}

impl Identity {
    /// Reads it off the names in a set; none for a list that is one value.
    fn of_items(shape: Option<&FieldSet>) -> Option<Self> {
        shape?.children.keys().find_map(|name| match Step::parse(name)? {
            Step::Key(key) => Some(Self::Fields(key.into_iter().map(|(name, _)| name).collect())),
            Step::Item(_) => Some(Self::Value),
            Step::Field(_) | Step::Index(_) => None,
        })
    }

    /// What leads to the item that is the same as this one; none for what can't be an item.
    fn step(&self, item: &Value) -> Option<Step<'static>> {
        Some(match self {
            Self::Value => Step::Item(item.clone()),
            Self::Fields(names) => {
                let members = item.as_object()?;
                let own = names.iter().filter_map(|name| Some((name.clone(), members.get(name)?.clone())));
                Step::Key(own.collect())
            }
        })
    }
}

/// The entries of others as they are, and one of ours that says *apply* for what the manifest has kept. What the
/// replacement changes, the API server moves to an entry of ours with the operation `Update` by itself.
fn managed_fields(live: &Value, manifest: &Value, ours: &FieldSet) -> Value {
    let mut kept: Vec<Value> = entries(live).filter(|entry| !is_ours(entry)).cloned().collect();
    let fields = ours.within(manifest);
    if !fields.is_empty() {
        let time =
            entries(live).filter(|entry| is_ours(entry)).filter_map(|entry| entry["time"].as_str()).max();
        let mut entry = json!({
            "manager": dcm_core::port::cluster::FIELD_MANAGER,
            "operation": "Apply",
            "apiVersion": manifest["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": fields.write(),
        });
        if let Some(time) = time {
            entry["time"] = time.into();
        }
        kept.push(entry);
    }
    entries_or_reset(kept)
}

/// The API server takes a missing or empty list for one that the sender does not understand, and keeps what it has;
/// one empty entry means that there are none.
pub(crate) fn entries_or_reset(entries: Vec<Value>) -> Value {
    if entries.is_empty() { json!([{}]) } else { Value::Array(entries) }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
