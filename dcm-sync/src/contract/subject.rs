//! What is under test, and what the functions of the suite have in common.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::Generation;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey, kind_of};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{
    Call, Cluster, ClusterUid, Error, Marks, Object, Origin, Precondition, Stamped,
};
use dcm_core::port::proof::{ClusterProofKey, PROOF_BYTES, ProofKey};
use serde_json::{Value, json};

/// The field manager under which [`Other`] writes.
pub const OTHER_MANAGER: &str = "somebody-else";

/// Longest [`Subject::prefix`]: the names that are made of it are labels of at most 63 characters.
pub const PREFIX_MAX: usize = 30;

/// How often something is looked at that is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// What may go wrong for the other person.
pub type OtherError = Box<dyn std::error::Error + Send + Sync>;

/// Another person with their own tools, who writes under [`OTHER_MANAGER`] and not through the port.
#[async_trait]
pub trait Other: Send + Sync + 'static {
    /// Makes an object.
    ///
    /// # Errors
    /// Whatever it was.
    async fn create(&self, body: &Value) -> Result<(), OtherError>;

    /// Changes an object by a JSON merge patch (RFC 7396).
    ///
    /// # Errors
    /// Whatever it was.
    async fn edit(&self, kind: &GroupVersionKind, key: &ObjectKey, patch: &Value) -> Result<(), OtherError>;
}

/// A cluster under test, and what the suite needs besides.
pub struct Subject {
    /// The implementation.
    pub cluster: Arc<dyn Cluster>,
    /// Another person on the same cluster.
    pub other: Arc<dyn Other>,
    /// The time that the cluster lives in.
    pub clock: Arc<dyn Clock>,
    /// On whose behalf the calls are; with a context.
    pub call: Call,
    /// Begins the names of all that is made: a DNS label of at most [`PREFIX_MAX`] characters, another one for each
    /// run on the same cluster.
    pub prefix: String,
    /// How long to wait for what controllers do: a minute is enough for a real server.
    pub patience: Duration,
}

/// The value, or a panic with what was expected.
pub(super) fn must<T, E: std::fmt::Debug>(result: Result<T, E>, what: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error:?}"),
    }
}

/// A precondition on an object of another UID.
pub(super) fn of_another_object(object: &Object) -> Precondition {
    Precondition { uid: "00000000-0000-4000-8000-000000000000".into(), ..object.precondition() }
}

/// Panics unless a write that is based on another state than the object's is a `Conflict`, or `NotFound` for another object.
pub(super) fn refused_as_another_state<T: std::fmt::Debug>(
    result: &Result<T, Error>,
    observed: &Precondition,
    before: &Object,
) {
    let is_right = match result {
        Err(Error::Conflict) => true,
        Err(Error::NotFound) => observed.uid != before.uid,
        _ => false,
    };
    assert!(is_right, "{result:?}");
}

/// A ConfigMap.
pub(super) fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    })
}

/// A ServiceAccount.
pub(super) fn service_account(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
}

pub(super) fn kind(body: &Value) -> GroupVersionKind {
    must(kind_of(body), "a body of the suite has a kind")
}

pub(super) fn key(body: &Value) -> ObjectKey {
    must(Manifest::new(body.clone()), "a body of the suite is a manifest").key().clone()
}

impl Subject {
    /// The manifest with our marks, in the first generation.
    pub(super) fn stamped(&self, body: &Value) -> Stamped {
        self.stamped_in(1, body)
    }

    pub(super) fn stamped_in(&self, generation: u64, body: &Value) -> Stamped {
        let manifest = must(Manifest::new(body.clone()), "a body of the suite is a manifest");
        let Some(context) = self.call.context.clone() else { panic!("the suite's calls need a context") };
        let generation = Generation(generation);
        let marks = Marks {
            owner: self.call.owner.clone(),
            context,
            generation,
            manifest: Some(manifest.hash()),
            origin: Origin::Created,
        };
        let proof = Some(proofs().prove(manifest.key(), &marks));
        Stamped { manifest, marks, labels: Arc::new(BTreeMap::new()), proof }
    }

    pub(super) async fn create(&self, body: &Value) -> Object {
        must(self.cluster.create(&self.call, &self.stamped(body)).await, "create")
    }

    /// What is there under the kind and key of a body.
    pub(super) async fn get(&self, body: &Value) -> Option<Object> {
        must(self.cluster.get(&self.call, &kind(body), &key(body)).await, "get")
    }

    pub(super) async fn there(&self, body: &Value) -> Object {
        let Some(object) = self.get(body).await else { panic!("{} is not there", key(body)) };
        object
    }

    /// Updates what is there, again when a controller wrote in between.
    pub(super) async fn update(&self, body: &Value, force: bool) -> Result<Object, Error> {
        let stamped = self.stamped(body);
        self.until("an update without a conflict", || async {
            let there = self.there(body).await;
            match self.cluster.update(&self.call, &stamped, &there.precondition(), force).await {
                Err(Error::Conflict) => None,
                result => Some(result),
            }
        })
        .await
    }

    /// Adopts what is there, without force.
    pub(super) async fn adopt(&self, body: &Value) -> Result<Object, Error> {
        let mut stamped = self.stamped(body);
        stamped.marks.origin = Origin::Adopted;
        let there = self.there(body).await;
        self.cluster.update(&self.call, &stamped, &there.precondition(), false).await
    }

    /// Deletes what is there, again when a controller wrote in between.
    pub(super) async fn delete(&self, body: &Value) -> dcm_core::port::cluster::Deletion {
        self.until("a deletion without a conflict", || async {
            let there = self.there(body).await;
            match self.cluster.delete(&self.call, &there.kind, &there.key, &there.precondition()).await {
                Err(Error::Conflict) => None,
                result => Some(must(result, "delete")),
            }
        })
        .await
    }

    pub(super) async fn edit(&self, body: &Value, patch: Value) {
        must(self.other.edit(&kind(body), &key(body), &patch).await, "an edit by somebody else");
    }

    /// Makes a namespace of this suite.
    pub(super) async fn namespace(&self, name: &str) -> String {
        let body = self.namespace_body(name);
        self.create(&body).await;
        key(&body).name.to_string()
    }

    pub(super) fn namespace_body(&self, name: &str) -> Value {
        assert!(self.prefix.len() <= PREFIX_MAX, "the prefix is at most {PREFIX_MAX} characters long");
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name(name)}})
    }

    /// A name for something cluster-scoped.
    pub(super) fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// Lets a namespace of this suite go, without waiting for it.
    pub(super) async fn clean_up(&self, name: &str) {
        self.delete(&self.namespace_body(name)).await;
    }

    /// Looks again and again until there is something.
    pub(super) async fn until<T, F, R>(&self, what: &str, look: F) -> T
    where
        F: Fn() -> R,
        R: Future<Output = Option<T>>,
    {
        let began = self.clock.now();
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            let waited = self.clock.now().duration_since(began);
            assert!(waited.unsigned_abs() < self.patience, "waited {waited:?} for {what}");
            self.clock.sleep(LOOK_INTERVAL).await;
        }
    }
}

/// What proves the marks of the suite's objects.
pub(super) fn proofs() -> ClusterProofKey {
    ProofKey::new(&[1; PROOF_BYTES]).on(&ClusterUid("suite".into()))
}
