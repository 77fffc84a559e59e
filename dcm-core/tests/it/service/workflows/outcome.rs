//! What two runs of a workflow have in common.

use std::collections::BTreeMap;

use dcm_core::service::Error;
use serde_json::{Value, json};

use super::CLOUDS;
use crate::service::support::{World, name};

/// Members that are random, or tell the time of a call.
const MASKED: [&str; 10] = [
    "$secret",
    "request",
    "nonce",
    "objectName",
    "csr",
    "at",
    "renewal",
    "certificates",
    "notBefore",
    "notAfter",
];

/// From this length on, a hash differs from run to run: it covers the time of a call, or random bits.
const HASH_DIGITS: usize = 16;

/// Each cloud as a reader sees it.
pub(super) type Readable = BTreeMap<&'static str, Option<Value>>;

/// What there is at one moment, as far as every run has it so.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) clouds: Readable,
    statuses: Vec<Value>,
    engine: Vec<Value>,
    marks: Vec<String>,
    /// All documents, by path. Several may have one path once hashes are masked.
    documents: Vec<(String, Value)>,
}

/// How exactly two runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Same,
    /// A call that is made again counts on: each of its numbers may be another one.
    Later,
}

impl Outcome {
    pub(super) async fn of(world: &World, numbers: Numbers) -> Self {
        let mask = Mask(numbers);
        let mut statuses = Vec::new();
        for cloud in CLOUDS {
            match world.clouds.status(&world.project, &name(cloud)).await {
                Ok(status) => statuses.push(mask.value(&serde_json::to_value(&status).unwrap())),
                Err(Error::NotFound { .. }) => {}
                Err(error) => panic!("the status of {cloud} can't be read: {error}"),
            }
        }
        let documents = world.documents().await;
        let mut documents: Vec<_> =
            documents.iter().map(|(path, value)| (mask.text(path), mask.value(value))).collect();
        documents.sort_by_cached_key(|(path, value)| (path.clone(), value.to_string()));
        let (clouds, engine, marks) =
            (readable(world, numbers).await, engine(world, mask), world.engine.marks());
        Self { clouds, statuses, engine, marks, documents }
    }

    pub(super) fn has_clouds(&self) -> bool {
        !self.statuses.is_empty()
    }

    /// Requires that nothing is left of clouds, when none is there.
    pub(super) fn assert_whole(&self, place: &str) {
        if !self.has_clouds() {
            // The engine remembers how far generations went.
            let is_of_clouds = |path: &&str| {
                !["projects/", "cluster-providers/", "clusters/", "controllers/", "forgotten"]
                    .iter()
                    .any(|room| path.starts_with(room))
            };
            let left: Vec<&str> =
                self.documents.iter().map(|(path, _)| &**path).filter(is_of_clouds).collect();
            assert!(left.is_empty(), "{place}: this is left over: {left:#?}");
            assert!(self.engine.is_empty(), "{place}: the engine has something left: {:#?}", self.engine);
        }
    }

    /// Requires the same, but for documents that a later call is to remove.
    pub(super) fn assert_same(&self, expected: &Self, may_have_more: bool, place: &str) {
        let mut left = self.documents.clone();
        for document in &expected.documents {
            match left.iter().position(|one| one == document) {
                Some(index) => drop(left.remove(index)),
                None => panic!("{place}: this is missing: {document:#?}; instead there are {left:#?}"),
            }
        }
        assert!(may_have_more || left.is_empty(), "{place}: this is left over: {left:#?}");
        assert_eq!(self.engine, expected.engine, "{place}: the engine has something else");
        assert_eq!(self.marks, expected.marks, "{place}: the engine has other marks");
        assert_eq!(self.statuses, expected.statuses, "{place}: the status is another one");
        assert_eq!(self.clouds, expected.clouds, "{place}: readers see something else");
    }
}

/// Each cloud as a reader sees it.
pub(super) async fn readable(world: &World, numbers: Numbers) -> Readable {
    let mut clouds = BTreeMap::new();
    for cloud in CLOUDS {
        let read = match world.clouds.get(&world.project, &name(cloud)).await {
            Ok(read) => Some(read.cloud.to_draft()),
            Err(Error::NotFound { .. }) => None,
            Err(error) => panic!("{cloud} can't be read: {error}"),
        };
        clouds.insert(cloud, read.map(|draft| Mask(numbers).value(&json!(draft))));
    }
    clouds
}

fn engine(world: &World, mask: Mask) -> Vec<Value> {
    let held = world.engine.held().into_iter().map(|(id, held)| {
        let names = |cluster| -> Vec<String> {
            held.requests(cluster).into_iter().map(|(name, _)| name.to_string()).collect()
        };
        let requests: Vec<_> = held.context.placements.keys().map(names).collect();
        let intent = format!("{:?} {} {:?}", held.intent, held.paused, held.removal);
        let objects: Vec<String> = held.objects().iter().map(|object| without_secrets(object)).collect();
        mask.value(&json!([id, held.generation, intent, held.clusters(), requests, objects]))
    });
    held.collect()
}

/// An object without the values of a Secret.
fn without_secrets(object: &str) -> String {
    let mut object: Value = serde_json::from_str(object).unwrap();
    if object["kind"] == "Secret" {
        object["data"] = Value::Null;
    }
    object.to_string()
}

/// Takes out what is another one in each run.
#[derive(Clone, Copy)]
struct Mask(Numbers);

impl Mask {
    fn value(self, value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let is_request = members.get("kind").is_some_and(|kind| kind == "CertificateSigningRequest");
                let is_masked = |member: &str| MASKED.contains(&member) || (is_request && member == "name");
                let masked =
                    members.iter().filter(|(member, _)| !self.hides(member)).map(|(member, value)| {
                        let value = if is_masked(member) { Value::Null } else { self.value(value) };
                        (self.text(member), value)
                    });
                Value::Object(masked.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(_) if self.0 == Numbers::Later => Value::Null,
            other => other.clone(),
        }
    }

    /// How many earlier credentials there are is such a number.
    fn hides(self, member: &str) -> bool {
        self.0 == Numbers::Later && member == "earlier"
    }

    fn text(self, text: &str) -> String {
        let masked = without_runs(text, |c| c.is_ascii_hexdigit(), HASH_DIGITS);
        match self.0 {
            Numbers::Same => masked,
            Numbers::Later => without_runs(&masked, |c| c.is_ascii_digit(), 1),
        }
    }
}

/// Puts `#` in the place of each run of so many characters of a kind, or more.
fn without_runs(text: &str, is_in: impl Fn(char) -> bool, shortest: usize) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (run, after) = rest.split_at(rest.find(|c| !is_in(c)).unwrap_or(rest.len()));
        masked.push_str(if run.len() < shortest { run } else { "#" });
        let (plain, after) = after.split_at(after.find(&is_in).unwrap_or(after.len()));
        masked.push_str(plain);
        rest = after;
    }
    masked
}
