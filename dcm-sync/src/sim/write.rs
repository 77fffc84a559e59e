//! Writes: create, apply, release and delete under the preconditions of the port.

use dcm_core::defaults;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{Deletion, Error, FIELD_MANAGER, Object, Origin, Part, Precondition};
use serde_json::{Map, Value, json};

use super::fields::{CONTROLLER_MANAGER, Owners};
use super::kind::{CERTIFICATES_GROUP, Kind};
use super::object::{finalizers, time};
use super::server::{SYSTEM_NAMESPACES, Server, key_of, locate};
use super::uid;
use super::validation::{self, invalid};

/// Labels and annotations with this prefix are ours.
const OUR_PREFIX: &str = "dcm.internal/";

impl Server {
    pub(super) fn create(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        body: &Value,
    ) -> Result<Object, Error> {
        self.create_as(FIELD_MANAGER, kind, key, body)
    }

    /// Makes an object as somebody else. What happens at [`Server::advance`]'s last time, happens now.
    ///
    /// # Errors
    /// As `Cluster::create`.
    pub fn create_as(
        &mut self,
        manager: &str,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        body: &Value,
    ) -> Result<Object, Error> {
        let (kind, key) = locate(kind, key)?;
        validation::key(kind, &key)?;
        validation::shape(body)?;
        self.check_namespace(&key)?;
        let mut stored = body.clone();
        fill(kind, &mut stored)?;
        validation::object(kind, &stored)?;
        if self.objects.contains_key(&key) {
            return Err(Error::AlreadyExists);
        }
        self.stamp(kind, &mut stored);
        let object = self.put(kind, key.clone(), stored, Owners::sole(manager, body));
        if kind.gvk.is_namespace() {
            self.furnish(&key.name);
        }
        self.schedule_cleaning(&object);
        Ok(object)
    }

    /// Makes an object as the cluster's own controllers do.
    pub(super) fn make(&mut self, kind: &str, namespace: Option<&str>, name: &str, mut body: Value) {
        let kind = Kind::named(kind);
        body["apiVersion"] = kind.gvk.api_version().into();
        body["kind"] = (*kind.gvk.kind).into();
        body["metadata"] = json!({"name": name});
        if let Some(namespace) = namespace {
            body["metadata"]["namespace"] = namespace.into();
        }
        let made = self.create_as(CONTROLLER_MANAGER, &kind.gvk, &key_of(kind, namespace, name), &body);
        debug_assert!(made.is_ok(), "what the cluster makes itself is valid: {made:?}");
    }

    /// What Kubernetes puts into each namespace.
    fn furnish(&mut self, namespace: &str) {
        // An authority is costly and made when it is first needed: not for the start of each of 10,000 clusters.
        let is_system = SYSTEM_NAMESPACES.contains(&namespace);
        let ca = if is_system { None } else { self.ca_pem() }.unwrap_or_default();
        self.make("ServiceAccount", Some(namespace), "default", json!({}));
        self.make("ConfigMap", Some(namespace), "kube-root-ca.crt", json!({"data": {"ca.crt": ca}}));
    }

    fn check_namespace(&self, key: &ObjectKey) -> Result<(), Error> {
        let Some(namespace) = &key.namespace else {
            return Ok(());
        };
        let stored =
            self.objects.get(&key_of(Kind::named("Namespace"), None, namespace)).ok_or(Error::NotFound)?;
        if stored.state.is_deleting {
            let message = format!("namespace {namespace} is being terminated: nothing new in it");
            return Err(Error::Forbidden { message: message.into() });
        }
        Ok(())
    }

    /// The metadata that the server writes into a new object.
    fn stamp(&self, kind: &Kind, body: &mut Value) {
        body["metadata"]["uid"] = uid::draw(&self.random).into();
        body["metadata"]["creationTimestamp"] = time(self.now);
        if kind.counts_generations {
            body["metadata"]["generation"] = 1.into();
        }
        if &*kind.gvk.group == CERTIFICATES_GROUP {
            body["spec"]["username"] = FIELD_MANAGER.into();
            body["status"] = json!({});
        }
    }

    pub(super) fn apply(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        desired: &Value,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, Error> {
        let (kind, key) = locate(kind, key)?;
        validation::shape(desired)?;
        let stored = self.observed(&key, observed)?;
        let live = stored.state.body();
        let mut merged = stored.owners.merged(FIELD_MANAGER, &live, desired);
        fill(kind, &mut merged)?;
        let held = stored.owners.held(FIELD_MANAGER, desired, &live, &merged);
        if let Some(held) = held.filter(|_| !force) {
            return Err(Error::FieldConflict { manager: held.manager, field: held.field });
        }
        let owners = stored.owners.applied(FIELD_MANAGER, desired, &live, &merged);
        if merged == live && owners == stored.owners {
            return Ok(stored.state.object());
        }
        self.replace(kind, &key, merged, owners)
    }

    /// Puts a new state of an object that is there, if it keeps the rules.
    fn replace(
        &mut self,
        kind: &'static Kind,
        key: &ObjectKey,
        mut body: Value,
        owners: Owners,
    ) -> Result<Object, Error> {
        let live = self.objects.get(key).ok_or(Error::NotFound)?.state.body();
        validation::object(kind, &body)?;
        validation::change(kind, &live, &body)?;
        if kind.counts_generations && live["spec"] != body["spec"] {
            body["metadata"]["generation"] =
                (body["metadata"]["generation"].as_u64().unwrap_or(0) + 1).into();
        }
        let object = self.put(kind, key.clone(), body, owners);
        self.finish_if_free(key);
        Ok(object)
    }

    pub(super) fn release(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        origin: Origin,
    ) -> Result<Object, Error> {
        let (kind, key) = locate(kind, key)?;
        let stored = self.observed(&key, observed)?;
        let mut body = stored.state.body();
        if origin == Origin::Adopted {
            body = stored.owners.merged(FIELD_MANAGER, &body, &json!({}));
        }
        if let Some(metadata) = body["metadata"].as_object_mut() {
            take_marks_off(metadata);
        }
        let owners = stored.owners.without(FIELD_MANAGER);
        if body == stored.state.body() && owners == stored.owners {
            return Ok(stored.state.object());
        }
        self.replace(kind, &key, body, owners)
    }

    pub(super) fn set_part(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        part: &Part,
    ) -> Result<Object, Error> {
        let (_, located) = locate(kind, key)?;
        self.observed(&located, observed)?;
        self.edit_as(part.field_manager(), kind, key, &part.patch())
    }

    pub(super) fn delete(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, Error> {
        let (_, key) = locate(kind, key)?;
        self.observed(&key, observed)?;
        self.delete_now(&key)
    }

    /// Deletes an object as somebody else, in whatever state it is.
    ///
    /// # Errors
    /// As `Cluster::delete`, but for the precondition.
    pub fn delete_as_other(&mut self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Deletion, Error> {
        let (_, key) = locate(kind, key)?;
        self.delete_now(&key)
    }

    pub(super) fn delete_now(&mut self, key: &ObjectKey) -> Result<Deletion, Error> {
        let stored = self.objects.get(key).ok_or(Error::NotFound)?;
        let kind = stored.state.kind;
        if kind.gvk.is_namespace() && SYSTEM_NAMESPACES.contains(&&*key.name) {
            return Err(Error::Forbidden { message: "this namespace may not be deleted".into() });
        }
        if stored.state.is_deleting {
            return Ok(Deletion::Pending);
        }
        let (mut body, owners) = (stored.state.body(), stored.owners.clone());
        if finalizers(kind, &body).is_empty() {
            self.remove(key);
            return Ok(Deletion::Gone);
        }
        body["metadata"]["deletionTimestamp"] = time(self.now);
        body["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        if kind.gvk.is_namespace() {
            body["status"]["phase"] = "Terminating".into();
        }
        let object = self.put(kind, key.clone(), body, owners);
        if kind.gvk.is_namespace() {
            self.terminate(&object);
        }
        Ok(Deletion::Pending)
    }

    /// Changes an object as somebody else, by a JSON merge patch (RFC 7396), its `status` too. The fields that it
    /// changes are that manager's from now on.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::UnknownKind`] and [`Error::Invalid`].
    pub fn edit_as(
        &mut self,
        manager: &str,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        patch: &Value,
    ) -> Result<Object, Error> {
        self.edit(kind, key, patch, |owners, live, body| owners.edited(manager, live, body))
    }

    /// Changes an object as [`Self::edit_as`] does, and empties `metadata.managedFields`.
    ///
    /// # Errors
    /// Those of [`Self::edit_as`].
    pub fn edit_unnoted(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        patch: &Value,
    ) -> Result<Object, Error> {
        self.edit(kind, key, patch, |_, _, _| Owners::reset())
    }

    fn edit(
        &mut self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        patch: &Value,
        owners: impl FnOnce(&Owners, &Value, &Value) -> Owners,
    ) -> Result<Object, Error> {
        let (kind, key) = locate(kind, key)?;
        let stored = self.objects.get(&key).ok_or(Error::NotFound)?;
        let live = stored.state.body();
        let mut body = live.clone();
        merge_patch(&mut body, patch);
        validation::shape(&body)?;
        for member in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation"] {
            body["metadata"][member] = live["metadata"][member].clone();
        }
        fill(kind, &mut body)?;
        let owners = owners(&stored.owners, &live, &body);
        let object = self.replace(kind, &key, body, owners)?;
        self.schedule_cleaning(&object);
        Ok(object)
    }
}

fn fill(kind: &Kind, body: &mut Value) -> Result<(), Error> {
    defaults::fill(&kind.gvk, body).map_err(|error| invalid(error.to_string()))
}

fn take_marks_off(metadata: &mut Map<String, Value>) {
    for member in ["labels", "annotations"] {
        let Some(Value::Object(marks)) = metadata.get_mut(member) else {
            continue;
        };
        marks.retain(|key, _| !key.starts_with(OUR_PREFIX));
        if marks.is_empty() {
            metadata.remove(member);
        }
    }
}

/// RFC 7396.
fn merge_patch(target: &mut Value, patch: &Value) {
    let Some(members) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (name, value) in members {
        if let (true, Some(target)) = (value.is_null(), target.as_object_mut()) {
            target.remove(name);
        } else {
            merge_patch(&mut target[name], value);
        }
    }
}
