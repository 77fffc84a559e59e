//! The simulation by itself: the pure server, and what lies in front of it.

mod access;
mod certificates;
mod fleet;
mod histories;
mod links;
mod namespaces;
mod server;

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Generation;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey, kind_of};
use dcm_core::name::{ContextId, OwnerId};
use dcm_core::port::cluster::{Call, Error, Fence, Marks, Object, Origin, Precondition, Stamped};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::test_clock::TestClock;
use super::{FakeSigner, Operation, Reply, Request, Seeded, Server, Settings};

pub(super) fn call() -> Call {
    Call {
        owner: OwnerId::new("dcm").unwrap(),
        context: Some(ContextId::new("lc-1").unwrap()),
        generation: Generation(1),
        fence: Fence(1),
    }
}

pub(super) fn stamped(body: &Value) -> Stamped {
    let manifest = Manifest::new(body.clone()).unwrap();
    let context = ContextId::new("lc-1").unwrap();
    let (owner, generation, hash) = (OwnerId::new("dcm").unwrap(), Generation(1), manifest.hash());
    Stamped {
        manifest,
        marks: Marks { owner, context, generation, manifest: Some(hash), origin: Origin::Created },
        labels: Arc::default(),
        proof: None,
    }
}

pub(super) fn config_map(name: &str, data: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

pub(super) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(super) fn kind(body: &Value) -> GroupVersionKind {
    kind_of(body).unwrap()
}

pub(super) fn key(body: &Value) -> ObjectKey {
    Manifest::new(body.clone()).unwrap().key().clone()
}

pub(super) fn precondition(object: &Object) -> Precondition {
    Precondition { uid: object.uid.clone(), resource_version: object.resource_version.clone() }
}

/// A server and its time.
pub(super) struct Lab {
    pub(super) server: Server,
    pub(super) now: Timestamp,
}

impl Lab {
    pub(super) fn new() -> Self {
        Self::with(1, Settings::default())
    }

    pub(super) fn with(seed: u64, settings: Settings) -> Self {
        let now = TestClock::beginning();
        let server =
            Server::new(Arc::new(settings), Some(Arc::new(FakeSigner::default())), Seeded::new(seed), now);
        Self { server, now }
    }

    pub(super) fn wait(&mut self, duration: Duration) {
        self.now += duration;
        self.server.advance(self.now);
    }

    pub(super) fn ask(&mut self, operation: Operation) -> Result<Reply, Error> {
        self.server.handle(&Request { call: call(), operation }, self.now)
    }

    fn written(&mut self, operation: Operation) -> Result<Object, Error> {
        match self.ask(operation)? {
            Reply::Written(object) => Ok(object),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn create(&mut self, body: &Value) -> Result<Object, Error> {
        self.written(Operation::Create { kind: kind(body), key: key(body), body: stamped(body).body() })
    }

    pub(super) fn update(&mut self, body: &Value) -> Result<Object, Error> {
        let (observed, force) = (precondition(&self.get(body).unwrap()), false);
        let desired = stamped(body).body();
        self.written(Operation::Update { kind: kind(body), key: key(body), body: desired, observed, force })
    }

    pub(super) fn delete(&mut self, body: &Value) -> Result<Reply, Error> {
        let observed = precondition(&self.get(body).ok_or(Error::NotFound)?);
        self.ask(Operation::Delete { kind: kind(body), key: key(body), observed })
    }

    pub(super) fn approve(&mut self, body: &Value) -> Result<Object, Error> {
        let observed = precondition(&self.get(body).unwrap());
        self.written(Operation::Approve { key: key(body), observed })
    }

    pub(super) fn get(&self, body: &Value) -> Option<Object> {
        self.server.object(&kind(body), &key(body)).unwrap()
    }
}
