//! Rights in one namespace, which the engine gives to itself: as the port promises, and adapters to real clusters do.

use std::sync::Arc;

use dcm_core::manifest::ObjectKey;
use dcm_core::port::cluster::{Error, FIELD_MANAGER, NAMESPACE_BINDING, NAMESPACE_ROLE};
use serde_json::{Value, json};

use super::kind::{Kind, RBAC_GROUP};
use super::needed;
use super::rbac::Rights;
use super::request::Operation;
use super::server::{Server, key_of};

impl Server {
    /// Binds the role for namespaces to the engine's user where an operation in one needs it.
    pub(super) fn enter(&mut self, operation: &Operation) -> Result<(), Error> {
        let Rights::Of(identity) = &self.rights else { return Ok(()) };
        let namespace = match operation {
            Operation::IssueToken(request) => request.namespace.clone(),
            Operation::Contents { namespace, .. } => namespace.clone(),
            _ => return Ok(()),
        };
        if needed::needed(self, operation).iter().all(|access| self.rights.give(self, access)) {
            return Ok(());
        }
        let (kind, key) = (Kind::named("RoleBinding").gvk.clone(), binding_key(&namespace));
        let body = binding(&namespace, &identity.user);
        self.check_rights(&Operation::Create { kind: kind.clone(), key: key.clone(), body: body.clone() })?;
        let made = self.create(&kind, &key, &body);
        if !matches!(made, Err(Error::AlreadyExists)) {
            return made.map(drop);
        }
        let live = self.objects.get(&key).map(|stored| stored.state.body()).unwrap_or_default();
        if live["roleRef"] != body["roleRef"] {
            return Err(Error::Forbidden { message: format!("{key} binds another role").into() });
        }
        self.edit_as(FIELD_MANAGER, &kind, &key, &json!({"subjects": body["subjects"]})).map(drop)
    }

    /// Gives up what [`Server::enter`] gave.
    pub(super) fn leave(&mut self, namespace: &str) {
        let key = binding_key(namespace);
        if self.is_own_binding(&key) {
            self.take(&key);
        }
    }

    /// True for the binding that [`Server::enter`] makes.
    pub(super) fn is_own_binding(&self, key: &ObjectKey) -> bool {
        let is_named = &*key.kind == "RoleBinding" && &*key.name == NAMESPACE_BINDING;
        let live = self.objects.get(key).filter(|_| is_named);
        live.is_some_and(|stored| stored.state.body()["roleRef"]["name"] == NAMESPACE_ROLE)
    }
}

fn binding_key(namespace: &str) -> ObjectKey {
    key_of(Kind::named("RoleBinding"), Some(namespace), NAMESPACE_BINDING)
}

fn binding(namespace: &str, user: &Arc<str>) -> Value {
    json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"),
        "kind": "RoleBinding",
        "metadata": {"name": NAMESPACE_BINDING, "namespace": namespace},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": NAMESPACE_ROLE},
        "subjects": [{"apiGroup": RBAC_GROUP, "kind": "User", "name": user}],
    })
}
