//! Who asks, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::logical_cloud::check_labels;
use crate::refusal::{Checks, Path};

/// Longest text about a caller that is kept, in characters: it is written into every document that a call changes.
/// Names of users have up to as many bytes.
pub const CALLER_TEXT_MAX: usize = 512;

/// The label by which Kubernetes decides which pods may run in a namespace, and the value that keeps them off their host: no
/// privileged containers, no paths, ports, processes and network of the host (Kubernetes documentation, "Pod Security Standards").
pub const POD_SECURITY: (&str, &str) = ("pod-security.kubernetes.io/enforce", "baseline");

/// What callers with limits are held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Labels that the namespace of a cloud has which such a caller makes. Others may change them. Default: [`POD_SECURITY`].
    pub namespace_labels: BTreeMap<String, String>,
}

impl Default for Limits {
    fn default() -> Self {
        let (key, value) = POD_SECURITY;
        Self { namespace_labels: BTreeMap::from([(key.to_owned(), value.to_owned())]) }
    }
}

impl Limits {
    /// Checks that the labels may be those of a logical cloud's namespace.
    pub fn check(&self, at: &Path, checks: &mut Checks) {
        check_labels(&self.namespace_labels, at, checks);
    }
}

/// Who asks for something, and why. It is kept with what the call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    who: String,
    why: String,
    request_id: String,
    limits: Option<Arc<Limits>>,
}

impl Caller {
    /// A caller without limits: whether somebody may call at all is for whoever makes this. Texts here are cut to
    /// [`CALLER_TEXT_MAX`] characters.
    #[must_use]
    pub fn new(who: impl AsRef<str>) -> Self {
        Self { who: cut(who.as_ref()), why: String::new(), request_id: String::new(), limits: None }
    }

    /// Adds the reason.
    #[must_use]
    pub fn because(self, why: impl AsRef<str>) -> Self {
        Self { why: cut(why.as_ref()), ..self }
    }

    /// Adds what the caller calls this request, to find it in other systems' logs.
    #[must_use]
    pub fn with_request_id(self, request_id: impl AsRef<str>) -> Self {
        Self { request_id: cut(request_id.as_ref()), ..self }
    }

    /// The same, who may not grant rights in privileged and admin clouds, nor all verbs, nor verbs by which more rights are got
    /// (`bind`, `escalate`, `impersonate`), nor to change what reaches beyond a namespace, nor take over what is on clusters already,
    /// nor set labels of Kubernetes, and is not told of other projects' logical clouds. Namespaces of clouds that they make get
    /// the labels of these limits. This is
    /// about logical clouds alone: who may register or label a cluster is for whoever calls.
    #[must_use]
    pub fn limited(self, limits: impl Into<Arc<Limits>>) -> Self {
        Self { limits: Some(limits.into()), ..self }
    }

    /// What the caller is held to; none for a caller without limits.
    pub(super) fn limits(&self) -> Option<&Limits> {
        self.limits.as_deref()
    }

    /// Who asks.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.who
    }

    /// The reason; empty when none was given.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// What the caller calls this request; empty when nothing was given.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// A change that this caller makes at a time.
    pub(super) fn change(&self, at: Timestamp) -> Change {
        let Self { who, why, request_id, .. } = self.clone();
        Change { by: who, why, request_id, at }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(CALLER_TEXT_MAX).collect()
}

/// Who changed something, why and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// Who.
    pub by: String,
    /// The reason; empty when none was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What the caller calls the request; empty when nothing was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// When.
    pub at: Timestamp,
}
