//! Objects as a simulated server keeps them.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::ObjectKey;
use dcm_core::port::cluster::{LABEL_OWNER, Marks, Object};
use jiff::Timestamp;
use serde_json::Value;

use super::fields::Owners;
use super::kind::Kind;

/// One state of an object. The body is kept as text: as a tree it takes five times the memory, and most objects of a
/// large fleet lie still.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) kind: &'static Kind,
    pub(super) key: ObjectKey,
    pub(super) uid: Arc<str>,
    pub(super) revision: u64,
    /// Value of the label by which watches select.
    pub(super) owner: Option<Arc<str>>,
    pub(super) is_deleting: bool,
    text: Arc<str>,
}

impl State {
    /// The state that a body is under a revision.
    pub(super) fn new(kind: &'static Kind, key: ObjectKey, revision: u64, mut body: Value) -> (Self, Object) {
        body["metadata"]["resourceVersion"] = revision.to_string().into();
        let owner = body["metadata"]["labels"][LABEL_OWNER].as_str().map(Into::into);
        let text = body.to_string().into();
        let object = object(kind, &key, body);
        let (uid, is_deleting) = (object.uid.clone(), object.deleting.is_some());
        (Self { kind, key, uid, revision, owner, is_deleting, text }, object)
    }

    pub(super) fn body(&self) -> Value {
        match serde_json::from_str(&self.text) {
            Ok(body) => body,
            Err(error) => unreachable!("it was written from a body: {error}"),
        }
    }

    pub(super) fn object(&self) -> Object {
        object(self.kind, &self.key, self.body())
    }
}

/// The present state of an object, and who wrote which of its fields.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) state: State,
    pub(super) owners: Owners,
}

/// The object that a body with its server-written metadata is.
fn object(kind: &Kind, key: &ObjectKey, body: Value) -> Object {
    let text = |member: &str| Arc::from(body["metadata"][member].as_str().unwrap_or_default());
    Object {
        kind: kind.gvk.clone(),
        key: key.clone(),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        marks: Marks::read(&body),
        deleting: body["metadata"]["deletionTimestamp"].is_string().then(|| finalizers(kind, &body)),
        body: Arc::new(body),
    }
}

/// What holds an object back: a namespace has finalizers of its own kind besides.
pub(super) fn finalizers(kind: &Kind, body: &Value) -> Vec<Arc<str>> {
    let of_namespace = if kind.gvk.is_namespace() { &body["spec"]["finalizers"] } else { &Value::Null };
    let lists = [&body["metadata"]["finalizers"], of_namespace];
    let items = lists.into_iter().filter_map(Value::as_array).flatten();
    items.filter_map(Value::as_str).map(Arc::from).collect()
}

/// A time as Kubernetes writes it: whole seconds.
pub(super) fn time(at: Timestamp) -> Value {
    Timestamp::from_second(at.as_second()).map_or(Value::Null, |whole| whole.to_string().into())
}

/// A time as Kubernetes wrote it.
pub(super) fn read_time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// A time and some; the end of time when that is beyond it.
pub(super) fn later(at: Timestamp, duration: Duration) -> Timestamp {
    at.checked_add(duration).unwrap_or(Timestamp::MAX)
}
