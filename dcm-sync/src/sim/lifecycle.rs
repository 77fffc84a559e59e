//! What happens by itself: due tasks, and the way in which namespaces and held-back objects go.

use dcm_core::manifest::ObjectKey;
use dcm_core::port::cluster::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::CONTROLLER_MANAGER;
use super::kind::Kind;
use super::object::{State, finalizers, later};
use super::schedule::{Due, Task};
use super::server::{Server, key_of};

/// The finalizer that a namespace has of itself.
const NAMESPACE_FINALIZER: &str = "kubernetes";

/// What a controller writes on the objects that it made with labels of others ([`Server::copy_labels_from_now_on`]).
pub(crate) const ANNOTATION_COPY: &str = "example.com/copy";

impl Server {
    /// Does what is due by now, each at its time and in its order. A time before the last one counts as the last one.
    pub fn advance(&mut self, now: Timestamp) {
        let now = now.max(self.now);
        while let Some((at, due)) = self.schedule.pop(now) {
            self.now = at.max(self.now);
            self.perform(&due);
        }
        self.now = now;
    }

    /// When something happens next by itself.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.schedule.next()
    }

    fn perform(&mut self, due: &Due) {
        if self.objects.get(&due.key).is_none_or(|stored| stored.state.uid != due.uid) {
            return;
        }
        match due.task {
            Task::EmptyNamespace => self.empty(&due.key),
            Task::FinishNamespace => self.finish(&due.key),
            Task::Issue => self.issue(&due.key),
            Task::Clean => self.clean(&due.key),
        }
    }

    /// Begins the end of a namespace.
    pub(super) fn terminate(&mut self, namespace: &Object) {
        let delay = self.settings.namespace_deletion;
        let due = |task| Due { task, key: namespace.key.clone(), uid: namespace.uid.clone() };
        self.schedule.add(later(self.now, delay / 2), due(Task::EmptyNamespace));
        self.schedule.add(later(self.now, delay), due(Task::FinishNamespace));
    }

    /// From now on a controller keeps a Role beside each ServiceAccount that has an owner label, of the same name and with the same labels:
    /// real ones keep Endpoints beside a Service in this way.
    pub fn copy_labels_from_now_on(&mut self) {
        self.copies_labels = true;
        self.copy_labels();
    }

    pub(super) fn copy_labels(&mut self) {
        let is_meant = |state: &State| state.kind.is("ServiceAccount") && state.owner.is_some();
        let states = self.objects.values().map(|stored| &stored.state).filter(|state| is_meant(state));
        let accounts: Vec<(ObjectKey, Value)> =
            states.map(|state| (state.key.clone(), state.body()["metadata"]["labels"].clone())).collect();
        let kind = Kind::named("Role");
        if self.undefined.contains(&kind.gvk.kind) {
            return;
        }
        for (account, labels) in accounts {
            let key = key_of(kind, account.namespace.as_deref(), &account.name);
            if self.objects.contains_key(&key) {
                continue;
            }
            let metadata = json!({"name": &*key.name, "namespace": key.namespace.as_deref(), "labels": labels,
                "annotations": {ANNOTATION_COPY: "yes"}});
            let (version, name) = (kind.gvk.api_version(), &*kind.gvk.kind);
            let body = json!({"apiVersion": version, "kind": name, "metadata": metadata, "rules": []});
            // Its namespace may be on its way out.
            let _ = self.create_as(CONTROLLER_MANAGER, &kind.gvk, &key, &body);
        }
    }

    fn keys_in(&self, namespace: &str) -> Vec<ObjectKey> {
        self.objects.keys().filter(|key| key.namespace.as_deref() == Some(namespace)).cloned().collect()
    }

    fn empty(&mut self, namespace: &ObjectKey) {
        for key in self.keys_in(&namespace.name) {
            let deleted = self.delete_now(&key);
            debug_assert!(deleted.is_ok(), "what is listed can be deleted");
        }
    }

    fn finish(&mut self, namespace: &ObjectKey) {
        let remaining = self.keys_in(&namespace.name).len();
        let Some(stored) = self.objects.get(namespace) else {
            return;
        };
        let (kind, mut body, owners) = (stored.state.kind, stored.state.body(), stored.owners.clone());
        if remaining > 0 {
            self.emptying.insert(namespace.clone());
            let message = format!("{remaining} objects remain");
            body["status"]["conditions"] =
                json!([{"type": "NamespaceContentRemaining", "status": "True", "message": message}]);
        } else if let Some(list) = body["spec"]["finalizers"].as_array_mut() {
            list.retain(|finalizer| finalizer != NAMESPACE_FINALIZER);
        }
        if finalizers(kind, &body).is_empty() {
            self.remove(namespace);
        } else {
            self.put(kind, namespace.clone(), body, owners);
        }
    }

    /// Removes an object, and the namespace that waited for it.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.take(key);
        self.emptying.remove(key);
        let Some(namespace) = &key.namespace else { return };
        let namespace = key_of(Kind::named("Namespace"), None, namespace);
        if self.emptying.contains(&namespace) && self.keys_in(&namespace.name).is_empty() {
            self.finish(&namespace);
        }
    }

    /// Removes an object that is being deleted and that nothing holds back any more.
    pub(super) fn finish_if_free(&mut self, key: &ObjectKey) {
        let is_free = |state: &State| state.is_deleting && finalizers(state.kind, &state.body()).is_empty();
        if self.objects.get(key).is_some_and(|stored| is_free(&stored.state)) {
            self.remove(key);
        }
    }
}

/// The condition of a type in an object's status.
pub(super) fn condition<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    body["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == name)
}
