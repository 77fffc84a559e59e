//! Objects of app contexts that are not loaded yet, or that the store does not know: how much is kept of them.
//!
//! Until its context is loaded it is not known what is desired of an object, so it is kept whole, to be looked at again. Beyond
//! a limit only that it is there, as it was last seen; it is read by its name then. Beyond another one it is not kept at all, and
//! its kind is listed anew when a context is loaded.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::Object;
use serde_json::Value;

use super::Machine;
use super::shard::Known;

/// What is kept of one cluster.
#[derive(Default)]
pub(super) struct Unread {
    contexts: BTreeMap<ContextId, BTreeMap<ObjectKey, Option<Whole>>>,
    count: usize,
    bytes: usize,
    /// The kinds of which not all is kept.
    cut: BTreeSet<GroupVersionKind>,
}

struct Whole {
    object: Object,
    bytes: usize,
}

/// How much is kept of one cluster.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) objects: usize,
    pub(super) bytes: usize,
}

impl Unread {
    /// Keeps an object as far as there is room; false: not at all.
    pub(super) fn keep(&mut self, context: &ContextId, object: &Object, limits: Limits) -> bool {
        let is_known = self.contexts.get(context).is_some_and(|known| known.contains_key(&object.key));
        if !is_known && self.count >= limits.objects {
            self.cut.insert(object.kind.clone());
            return false;
        }
        let known = self.contexts.entry(context.clone()).or_default();
        match known.remove(&object.key) {
            None => self.count += 1,
            Some(earlier) => self.bytes -= earlier.map_or(0, |whole| whole.bytes),
        }
        let bytes = size(&object.body);
        let is_kept_whole = self.bytes + bytes <= limits.bytes;
        if is_kept_whole {
            self.bytes += bytes;
        }
        known.insert(object.key.clone(), is_kept_whole.then(|| Whole { object: object.clone(), bytes }));
        true
    }

    /// True for an object that is kept whole.
    pub(super) fn is_whole(&self, context: &ContextId, key: &ObjectKey) -> bool {
        self.contexts.get(context).and_then(|known| known.get(key)).is_some_and(Option::is_some)
    }

    /// The objects of a context that are kept whole.
    pub(super) fn whole(&self, context: &ContextId) -> impl Iterator<Item = &Object> {
        let known = self.contexts.get(context).into_iter().flat_map(BTreeMap::values);
        known.flatten().map(|whole| &whole.object)
    }

    /// Gives up what is kept of a context: its objects that are kept whole.
    pub(super) fn take(&mut self, context: &ContextId) -> Vec<Object> {
        let known = self.contexts.remove(context).unwrap_or_default();
        self.count -= known.len();
        let whole: Vec<Whole> = known.into_values().flatten().collect();
        self.bytes -= whole.iter().map(|whole| whole.bytes).sum::<usize>();
        whole.into_iter().map(|whole| whole.object).collect()
    }
}

impl Machine {
    pub(super) fn unread_limits(&self) -> Limits {
        Limits { objects: self.options.unknown_objects_max, bytes: self.options.unread_bytes_max }
    }

    /// Lists kinds anew of which not all objects are kept, as a context has been loaded that they may belong to. One whose
    /// list has not begun to come needs nothing: it comes after that.
    pub(super) fn list_cut(&mut self, cluster: &ClusterId) {
        for kind in std::mem::take(&mut self.shard_mut(cluster).unread.cut) {
            let watch = self.shard_mut(cluster).watches.get(&kind);
            if watch.is_some_and(|watch| matches!(watch.known, Known::Listed) || watch.listing.is_some()) {
                self.reopen_watch(cluster, &kind);
            }
        }
    }
}

/// How much memory a value takes, about.
fn size(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| 48 + name.len() + size(value)).sum(),
    };
    size_of::<Value>() + inner
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn object(name: &str, text: &str) -> Object {
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        Object {
            key: ObjectKey::of_kind(&kind, Some("n"), name),
            kind,
            uid: "u".into(),
            resource_version: "1".into(),
            marks: None,
            deleting: None,
            body: Arc::new(json!(text)),
        }
    }

    #[test]
    fn what_has_no_room_is_kept_by_its_name_and_then_not_at_all() {
        let context = |name: &str| ContextId::new(name).unwrap();
        let (one, other) = (context("lc-1"), context("lc-2"));
        let whole = size(&json!("text"));
        let limits = Limits { objects: 3, bytes: 2 * whole };
        let mut unread = Unread::default();
        for (name, is_whole) in [("a", true), ("b", true), ("c", false)] {
            assert!(unread.keep(&one, &object(name, "text"), limits));
            assert_eq!(unread.is_whole(&one, &object(name, "").key), is_whole, "{name}");
        }
        assert!(!unread.keep(&other, &object("d", "text"), limits));
        assert!(unread.keep(&one, &object("a", "t"), limits), "it is known");
        assert_eq!((unread.count, unread.bytes, unread.cut.len()), (3, 2 * whole - 3, 1));
        assert_eq!(unread.take(&one).len(), 2);
        assert_eq!((unread.count, unread.bytes), (0, 0));
        assert!(unread.keep(&other, &object("d", "text"), limits));
        assert!(unread.is_whole(&other, &object("d", "").key));
    }
}
