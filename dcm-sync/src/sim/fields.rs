//! Who wrote which field: the ownership that server-side apply works with.
//!
//! Maps merge member by member; a list is one field and is replaced as a whole. That is the API server's own rule for
//! the kinds that we render (rules, subjects, limits, usages); lists that Kubernetes merges by key, such as containers
//! and finalizers, are simpler here than there.

use std::sync::Arc;

use dcm_core::fields::FieldSet;
use dcm_core::port::cluster::FIELD_MANAGER;
use serde_json::{Map, Value, json};

/// Members that the API server writes, or that say which object it is: nobody owns them.
const METADATA_UNOWNED: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// Members of the object itself of which the same holds; `status` has an endpoint of its own.
const OBJECT_UNOWNED: [&str; 3] = ["apiVersion", "kind", "status"];

/// JSON pointers of fields, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<Box<str>>);

impl Fields {
    /// The fields that a body sets.
    pub(super) fn of(body: &Value) -> Self {
        let mut fields = Vec::new();
        for (name, value) in body.as_object().into_iter().flatten() {
            if !OBJECT_UNOWNED.contains(&name.as_str()) {
                let unowned = if name == "metadata" { &METADATA_UNOWNED[..] } else { &[] };
                collect(value, &mut format!("/{}", escaped(name)), unowned, &mut fields);
            }
        }
        fields.sort_unstable();
        Self(fields)
    }

    fn contains(&self, path: &str) -> bool {
        self.0.binary_search_by(|field| (**field).cmp(path)).is_ok()
    }

    fn touches(&self, path: &str) -> bool {
        self.0.iter().any(|field| overlap(field, path))
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|field| &**field)
    }

    /// The fields as FieldsV1.
    fn v1(&self) -> Value {
        let mut set = FieldSet::default();
        for path in self.iter() {
            let names = path.split('/').skip(1).map(|segment| format!("f:{}", unescaped(segment)));
            let last = names.fold(&mut set, |above, name| above.children.entry(name).or_default());
            last.member = true;
        }
        set.write()
    }
}

fn collect(value: &Value, path: &mut String, unowned: &[&str], fields: &mut Vec<Box<str>>) {
    match value {
        Value::Null => {}
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                if !unowned.contains(&name.as_str()) {
                    let length = path.len();
                    path.push('/');
                    path.push_str(&escaped(name));
                    collect(member, path, &[], fields);
                    path.truncate(length);
                }
            }
        }
        _ => fields.push(path.as_str().into()),
    }
}

/// One name as a segment of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// True when one path is the other, or lies inside it.
fn overlap(one: &str, other: &str) -> bool {
    let inside =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    one == other || inside(one, other) || inside(other, one)
}

/// The fields of one object by manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owners {
    entries: Vec<(Arc<str>, Fields)>,
    /// Somebody but us and the cluster itself wrote, too.
    is_shared: bool,
}

/// Under whose name the cluster's own controllers write.
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// A field that another manager holds with another value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) manager: String,
    pub(super) field: String,
}

impl Owners {
    /// One manager wrote all of it.
    pub(super) fn sole(manager: &str, body: &Value) -> Self {
        Self { entries: vec![(manager.into(), Fields::of(body))], is_shared: is_somebody(manager) }
    }

    /// No managers: as after a write that resets `metadata.managedFields`.
    pub(super) fn reset() -> Self {
        Self { entries: Vec::new(), is_shared: true }
    }

    /// The managers that own anything.
    pub(super) fn managers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().filter(|(_, fields)| !fields.0.is_empty()).map(|(manager, _)| manager)
    }

    fn of(&self, manager: &str) -> Option<&Fields> {
        self.entries.iter().find(|(name, _)| **name == *manager).map(|(_, fields)| fields)
    }

    fn others<'a>(&'a self, manager: &'a str) -> impl Iterator<Item = &'a (Arc<str>, Fields)> {
        self.entries.iter().filter(move |(name, _)| **name != *manager)
    }

    /// What an apply of `desired` makes of `live`: what the manager applied before and now doesn't is gone, unless
    /// somebody else wrote it too; what it applies now is set; all else stays.
    pub(super) fn merged(&self, manager: &str, live: &Value, desired: &Value) -> Value {
        let wanted = Fields::of(desired);
        let mut merged = live.clone();
        for path in self.of(manager).into_iter().flat_map(Fields::iter) {
            let kept = wanted.contains(path) || self.others(manager).any(|(_, fields)| fields.touches(path));
            if !kept {
                remove(&mut merged, path);
            }
        }
        for path in wanted.iter() {
            if let Some(value) = desired.pointer(path) {
                set(&mut merged, path, value);
            }
        }
        merged
    }

    /// A field of `desired` that another manager holds and that would change from `live` to `merged`.
    pub(super) fn held(&self, manager: &str, desired: &Value, live: &Value, merged: &Value) -> Option<Held> {
        let wanted = Fields::of(desired);
        let changed = wanted.iter().filter(|path| live.pointer(path) != merged.pointer(path));
        changed.into_iter().find_map(|path| {
            let (holder, _) = self.others(manager).find(|(_, fields)| fields.touches(path))?;
            Some(Held { manager: holder.to_string(), field: unescaped(&path.replace('/', ".")) })
        })
    }

    /// The owners after an apply: the manager owns what it applied, others what they wrote and still holds.
    pub(super) fn applied(&self, manager: &str, desired: &Value, live: &Value, merged: &Value) -> Self {
        let mut after = self.unchanged(live, merged);
        after.replace(manager, Fields::of(desired));
        after
    }

    /// The owners after an ordinary write: the manager owns what it changed.
    pub(super) fn edited(&self, manager: &str, live: &Value, body: &Value) -> Self {
        let mut after = self.unchanged(live, body);
        let mut fields = Fields::of(body).0;
        fields.retain(|path| {
            live.pointer(path) != body.pointer(path)
                || after.of(manager).is_some_and(|own| own.contains(path))
        });
        after.replace(manager, Fields(fields));
        after.is_shared |= is_somebody(manager);
        after
    }

    /// The owners when a manager gives up all that it owns.
    pub(super) fn without(&self, manager: &str) -> Self {
        Self { entries: self.others(manager).cloned().collect(), is_shared: self.is_shared }
    }

    fn unchanged(&self, before: &Value, after: &Value) -> Self {
        let still = |path: &str| after.pointer(path).is_some() && before.pointer(path) == after.pointer(path);
        let fields = |fields: &Fields| Fields(fields.0.iter().filter(|path| still(path)).cloned().collect());
        let entries = self.entries.iter().map(|(manager, own)| (manager.clone(), fields(own))).collect();
        Self { entries, is_shared: self.is_shared }
    }

    fn replace(&mut self, manager: &str, fields: Fields) {
        self.entries.retain(|(name, own)| **name != *manager && !own.0.is_empty());
        if !fields.0.is_empty() {
            self.entries.push((manager.into(), fields));
        }
        self.entries.sort_by(|one, other| one.0.cmp(&other.0));
    }

    /// `metadata.managedFields`, as far as it tells anything: of what we alone wrote, or the cluster itself, none is told,
    /// for the memory and time of large fleets.
    pub(super) fn told(&self) -> Option<Value> {
        let entry = |(manager, fields): &(Arc<str>, Fields)| {
            let operation = if **manager == *FIELD_MANAGER { "Apply" } else { "Update" };
            json!({"manager": &**manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields.v1()})
        };
        self.is_shared.then(|| self.entries.iter().map(entry).collect())
    }
}

/// True for a manager that is neither ours nor the cluster's own.
fn is_somebody(manager: &str) -> bool {
    manager != FIELD_MANAGER && manager != CONTROLLER_MANAGER
}

/// Sets a field, and makes the maps on the way to it. An empty map is there when any map is.
fn set(body: &mut Value, path: &str, value: &Value) {
    let mut slot = body;
    for segment in path.split('/').skip(1) {
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        slot = &mut slot[unescaped(segment)];
    }
    let merges = slot.is_object() && value.as_object().is_some_and(Map::is_empty);
    if !merges {
        *slot = value.clone();
    }
}

/// Removes a field, and the maps that are empty without it, as the API server's types do.
fn remove(body: &mut Value, path: &str) {
    let Some((parent, name)) = path.rsplit_once('/') else {
        return;
    };
    let Some(members) = body.pointer_mut(parent).and_then(Value::as_object_mut) else {
        return;
    };
    members.remove(&unescaped(name));
    let is_inner = parent.matches('/').count() > 1 || parent == "/data";
    if members.is_empty() && is_inner {
        remove(body, parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies and returns the body and the owners, or what is held.
    fn apply(owners: &Owners, live: &Value, manager: &str, desired: &Value) -> Result<(Value, Owners), Held> {
        let merged = owners.merged(manager, live, desired);
        match owners.held(manager, desired, live, &merged) {
            Some(held) => Err(held),
            None => Ok((merged.clone(), owners.applied(manager, desired, live, &merged))),
        }
    }

    fn data(members: &Value) -> Value {
        json!({"metadata": {"name": "c"}, "data": members})
    }

    #[test]
    fn what_was_applied_before_and_is_not_now_is_removed() {
        let live = data(&json!({"a": "1", "b": "2"}));
        let owners = Owners::sole("dcm", &live);
        let (body, owners) = apply(&owners, &live, "dcm", &data(&json!({"a": "1"}))).unwrap();
        assert_eq!(body, data(&json!({"a": "1"})));
        let (body, owners) = apply(&owners, &body, "dcm", &json!({"metadata": {"name": "c"}})).unwrap();
        assert_eq!(body, json!({"metadata": {"name": "c"}}));
        assert_eq!(owners.managers().count(), 0);
    }

    #[test]
    fn what_others_wrote_stays_and_is_theirs() {
        let live = data(&json!({"a": "1"}));
        let owners = Owners::sole("dcm", &live);
        let edited = data(&json!({"a": "1", "b": "2"}));
        let owners = owners.edited("other", &live, &edited);
        let (body, owners) = apply(&owners, &edited, "dcm", &data(&json!({"c": "3"}))).unwrap();
        assert_eq!(body, data(&json!({"b": "2", "c": "3"})));
        assert_eq!(owners.of("other"), Some(&Fields(vec!["/data/b".into()])));
        assert_eq!(owners.of("dcm"), Some(&Fields(vec!["/data/c".into()])));
    }

    #[test]
    fn a_field_of_another_with_another_value_is_held_and_with_the_same_is_shared() {
        let live = data(&json!({"a.b": "1"}));
        let owners = Owners::sole("other", &live);
        let held = apply(&owners, &live, "dcm", &data(&json!({"a.b": "2"}))).unwrap_err();
        assert_eq!(held, Held { manager: "other".into(), field: ".data.a.b".into() });
        let (_, owners) = apply(&owners, &live, "dcm", &data(&json!({"a.b": "1"}))).unwrap();
        let managers: Vec<_> = owners.managers().map(|name| &**name).collect();
        assert_eq!(managers, ["dcm", "other"]);
        let (body, _) = apply(&owners, &live, "dcm", &data(&json!({}))).unwrap();
        assert_eq!(body["data"]["a.b"], "1", "it is the other's still");
    }

    #[test]
    fn an_edit_takes_a_field_over() {
        let live = data(&json!({"a": "1"}));
        let edited = data(&json!({"a": "2"}));
        let owners = Owners::sole("dcm", &live).edited("other", &live, &edited);
        assert_eq!(owners.of("dcm"), None);
        assert_eq!(owners.of("other"), Some(&Fields(vec!["/data/a".into()])));
    }

    #[test]
    fn who_holds_what_is_told_once_somebody_else_has_written() {
        let live = data(&json!({"a": "1", "b": "2"}));
        let owners = Owners::sole("dcm", &live);
        assert_eq!(owners.told(), None);
        let told = owners.edited("other", &live, &data(&json!({"a": "2"}))).told();
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields});
        let theirs = entry("other", "Update", json!({"f:data": {"f:a": {}}}));
        assert_eq!(told, Some(json!([theirs])));
        let removed = owners.edited("other", &live, &data(&json!({"a": "1"}))).told();
        assert_eq!(removed, Some(json!([entry("dcm", "Apply", json!({"f:data": {"f:a": {}}}))])));
    }

    #[test]
    fn a_list_is_one_field_and_names_with_slashes_are_kept_whole() {
        let body =
            json!({"metadata": {"labels": {"a.io/b~c": "x"}, "uid": "u"}, "rules": [{"verbs": ["get"]}]});
        let paths: Vec<_> = Fields::of(&body).0;
        assert_eq!(paths, ["/metadata/labels/a.io~1b~0c".into(), Box::<str>::from("/rules")]);
        let owners = Owners::sole("dcm", &body);
        assert_eq!(owners.merged("dcm", &body, &body), body);
    }

    #[test]
    fn an_empty_map_merges_into_one_that_has_members() {
        let live = json!({"spec": {"podSelector": {"matchLabels": {"a": "b"}}}});
        let owners = Owners::sole("other", &live);
        let (body, _) = apply(&owners, &live, "dcm", &json!({"spec": {"podSelector": {}}})).unwrap();
        assert_eq!(body, live);
    }
}
