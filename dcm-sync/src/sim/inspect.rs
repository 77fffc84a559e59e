//! What can be read of a simulated server, by the engine and by tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::ignored::IgnoredContents;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{Access, CONTENTS_SAMPLE_MAX, Call, ClusterUid, Contents, Error, Object};
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::trial::{ClientCredential, Trial};
use serde_json::Value;

use super::kind::Kind;
use super::object::State;
use super::rbac::{self, Identity, Rights, Roles};
use super::request::{Operation, RequestLog};
use super::server::{Server, key_of, locate};

impl Server {
    /// The cluster's UID: that of its `kube-system` namespace.
    #[must_use]
    pub fn uid(&self) -> ClusterUid {
        let kind = Kind::named("Namespace");
        let uid = self.objects.get(&key_of(kind, None, "kube-system")).map(|stored| stored.state.uid.clone());
        ClusterUid(uid.unwrap_or_default())
    }

    /// One object, none when there is none.
    ///
    /// # Errors
    /// [`Error::UnknownKind`].
    pub fn object(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Object>, Error> {
        let (_, key) = locate(kind, key)?;
        Ok(self.objects.get(&key).map(|stored| stored.state.object()))
    }

    /// The object that a write would hit.
    pub(super) fn before(&self, operation: &Operation) -> Option<Object> {
        let account = match operation {
            Operation::IssueToken(request) => Some(request.account()),
            _ => None,
        };
        let key = account.as_ref().or(operation.key().filter(|_| operation.verb().is_write()))?;
        self.objects.get(key).map(|stored| stored.state.object())
    }

    /// All objects, in the order of their keys.
    pub fn objects(&self) -> impl Iterator<Item = Object> {
        self.objects.values().map(|stored| stored.state.object())
    }

    /// The field managers that own anything of an object.
    #[must_use]
    pub fn managers(&self, key: &ObjectKey) -> Vec<Arc<str>> {
        self.objects.get(key).map_or_else(Vec::new, |stored| stored.owners.managers().cloned().collect())
    }

    /// What was asked of it.
    #[must_use]
    pub fn requests(&self) -> &RequestLog {
        &self.log
    }

    /// The same, to clear it.
    pub fn requests_mut(&mut self) -> &mut RequestLog {
        &mut self.log
    }

    /// Sets what the engine may do here. At first it may do all.
    pub fn set_rights(&mut self, rights: Rights) {
        self.rights = rights;
    }

    /// True when the roles and bindings on this cluster give somebody this access.
    #[must_use]
    pub fn may(&self, identity: &Identity, access: &Access) -> bool {
        rbac::may(self, identity, access)
    }

    /// Whom a certificate stands for; none when an authority that this cluster trusts did not sign it or it is not valid now.
    #[must_use]
    pub fn identify_certificate(&self, certificate_pem: &str) -> Option<Identity> {
        self.client_authority.as_ref().or(self.signer.as_ref())?.identify(certificate_pem, self.now)
    }

    pub(super) fn try_credential(&self, credential: &ClientCredential) -> Trial {
        let identity = match credential {
            ClientCredential::Certificate { pem, .. } => self.identify_certificate(pem),
            ClientCredential::Token(token) => self.identify_token(token),
        };
        if identity.is_some() { Trial::Accepted } else { Trial::Refused }
    }

    /// The certificate of the cluster's authority, PEM, for kubeconfigs.
    #[must_use]
    pub fn ca_pem(&self) -> Option<String> {
        self.signer.as_ref()?.ca_pem()
    }

    /// The `resourceVersion` of the last change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn contents(
        &self,
        call: &Call,
        namespace: &str,
        proofs: Option<&ClusterProofKey>,
    ) -> Contents {
        let states = self.objects.values().map(|stored| &stored.state);
        let inside: Vec<Object> = states
            .filter(|state| state.key.namespace.as_deref() == Some(namespace))
            .map(State::object)
            .collect();
        let uids: BTreeSet<&str> = inside.iter().map(|object| &*object.uid).collect();
        let is_owned = |object: &Object| {
            let owners = object.body["metadata"]["ownerReferences"].as_array();
            owners
                .into_iter()
                .flatten()
                .any(|owner| owner["uid"].as_str().is_some_and(|uid| uids.contains(uid)))
        };
        let is_ours = |object: &Object| {
            let marks = object.marks.as_ref();
            marks.is_some_and(|marks| {
                marks.owner == call.owner
                    && Some(&marks.context) == call.context.as_ref()
                    && proofs.is_some_and(|proofs| proofs.proves(&object.key, &object.body))
            })
        };
        let ignored = IgnoredContents::default();
        let others = inside
            .iter()
            .filter(|object| !is_kubernetes_own(&object.key) && !self.is_own_binding(&object.key))
            .filter(|object| !is_ours(object) && !is_owned(object));
        let mut contents = Contents::default();
        for object in others {
            if ignored.ignores(&object.key.group, &object.key.kind, &object.key.name, &labels_of(object)) {
                if contents.ignored.len() < CONTENTS_SAMPLE_MAX {
                    contents.ignored.push(object.key.clone());
                }
                continue;
            }
            contents.count += 1;
            if contents.sample.len() < CONTENTS_SAMPLE_MAX {
                contents.sample.push(object.key.clone());
            }
            if object.key.is_binding() && contents.bindings.len() < CONTENTS_SAMPLE_MAX {
                contents.bindings.push(object.key.name.clone());
            }
        }
        contents
    }
}

impl Roles for Server {
    fn all(&self, kind: &str, namespace: Option<&str>) -> Vec<Value> {
        let states = self.objects.values().map(|stored| &stored.state);
        let is_meant = |state: &&State| state.kind.is(kind) && state.key.namespace.as_deref() == namespace;
        states.filter(is_meant).map(State::body).collect()
    }

    fn one(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
        let stored = self.objects.get(&key_of(Kind::named(kind), namespace, name));
        stored.map(|stored| stored.state.body())
    }
}

fn labels_of(object: &Object) -> BTreeMap<String, String> {
    let labels = object.body["metadata"]["labels"].as_object().into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// What Kubernetes makes in each namespace.
fn is_kubernetes_own(key: &ObjectKey) -> bool {
    matches!((&*key.kind, &*key.name), ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt"))
}
