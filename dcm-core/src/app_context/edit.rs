//! Edits: parts of objects that belong to other clients.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::corefile::{DNS_PORT, LeftAlone, StubDomain};
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::name::{ContextId, DnsZone};

/// A part of a ConfigMap that belongs to other clients, as it is wanted.
///
/// The engine changes one member of `data`, and nothing else: no marks, no other member. Each write carries the UID and the `resourceVersion`
/// on which it is based, and has the field manager `dcm-edit`. What it changed is taken back when the edit is not desired any more. An object
/// that an app context applies is not edited.
///
/// The lines that are written name the app context. Two installations that share a cluster must use different ids of app contexts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// The text.
    pub target: DataMember,
    /// The change.
    pub change: Change,
}

/// Names one member of the `data` of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataMember {
    /// The namespace of the ConfigMap.
    pub namespace: Arc<str>,
    /// The name of the ConfigMap.
    pub name: Arc<str>,
    /// The member, such as `Corefile`.
    pub member: Arc<str>,
}

impl DataMember {
    /// The kind of the object: ConfigMap.
    #[must_use]
    pub fn kind() -> &'static GroupVersionKind {
        static KIND: LazyLock<GroupVersionKind> =
            LazyLock::new(|| GroupVersionKind::new("", "v1", "ConfigMap"));
        &KIND
    }

    /// The object.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of_kind(Self::kind(), Some(&self.namespace), &self.name)
    }

    /// True for the member of this object.
    #[must_use]
    pub fn is(&self, object: &ObjectKey, member: &str) -> bool {
        &*self.member == member && self.key() == *object
    }
}

/// The change of a text that belongs to other clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Change {
    /// A Corefile forwards a zone ([`StubDomain`]).
    StubDomain {
        /// The zone.
        zone: DnsZone,
        /// Where it is forwarded to.
        resolver: Resolver,
    },
}

/// A DNS server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolver {
    /// At this address.
    Address(SocketAddr),
    /// At port 53 of the cluster IP of a Service on the same cluster. Until it has one the edit waits; a new one is followed.
    Service {
        /// Its namespace.
        namespace: Arc<str>,
        /// Its name.
        name: Arc<str>,
    },
}

impl Edit {
    /// False for an empty name, an unspecified address and port 0.
    pub(super) fn is_valid(&self) -> bool {
        let Change::StubDomain { resolver, .. } = &self.change;
        let is_named = |names: &[&Arc<str>]| names.iter().all(|name| !name.is_empty());
        let resolves = match resolver {
            Resolver::Address(address) => !address.ip().is_unspecified() && address.port() != 0,
            Resolver::Service { namespace, name } => is_named(&[namespace, name]),
        };
        let DataMember { namespace, name, member } = &self.target;
        resolves && is_named(&[namespace, name, member])
    }

    /// The Service whose address the edit needs, if it needs one.
    #[must_use]
    pub fn service(&self) -> Option<(GroupVersionKind, ObjectKey)> {
        let Change::StubDomain { resolver: Resolver::Service { namespace, name }, .. } = &self.change else {
            return None;
        };
        let kind = GroupVersionKind::new("", "v1", "Service");
        let key = ObjectKey::of_kind(&kind, Some(namespace), name);
        Some((kind, key))
    }

    /// What is written for an app context; none while the Service has no address.
    #[must_use]
    pub fn resolved(&self, context: &ContextId, service: Option<IpAddr>) -> Option<StubDomain> {
        let Change::StubDomain { zone, resolver } = &self.change;
        let address = match resolver {
            Resolver::Address(address) => *address,
            Resolver::Service { .. } => SocketAddr::new(service?, DNS_PORT),
        };
        Some(StubDomain::new(context.clone(), zone.clone(), address.ip()).with_port(address.port()))
    }
}

/// An edit that was written, or may have been, as the engine recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edited {
    /// The text.
    pub target: DataMember,
    /// The stub domain that was written last, or found in the text; none before the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<StubDomain>,
    /// The stub domains that were sent since, or are about to be. The text may have one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<StubDomain>,
}

impl Edited {
    /// The stub domains that the text may have.
    pub fn each(&self) -> impl Iterator<Item = &StubDomain> {
        self.written.iter().chain(&self.unanswered)
    }

    /// True when all that was sent is answered.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.unanswered.is_empty()
    }

    /// False for a text that has nothing of what was written: neither the id of the app context nor the zone.
    #[must_use]
    pub fn may_be_in(&self, text: &str) -> bool {
        let is_in =
            |stub: &StubDomain| text.contains(stub.context().as_str()) || text.contains(stub.zone().as_str());
        self.each().any(is_in)
    }

    /// The text without what was written.
    ///
    /// # Errors
    /// [`LeftAlone`] where it can't be changed safely.
    pub fn undo(&self, current: &str) -> Result<String, LeftAlone> {
        self.each().try_fold(current.to_owned(), |text, stub| stub.undo(&text))
    }
}
