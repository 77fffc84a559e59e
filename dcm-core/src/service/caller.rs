//! Who asks, and why.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::grants::Limits;

/// Longest text about a caller that is kept, in characters: it is written into every document that a call changes.
/// Names of users have up to as many bytes.
pub const CALLER_TEXT_MAX: usize = 512;

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

    /// Holds the caller to limits in logical clouds: they grant and bring what the allow list of the limits has, in standard clouds
    /// alone, take no namespace of a system, set no label that Kubernetes or a system obeys, take over nothing that is on clusters
    /// already, bring what others have granted beyond that to no further cluster or namespace, and see no names of other projects'
    /// logical clouds. Namespaces of clouds that they make get the labels of these limits. This is about logical clouds alone: who may
    /// register or label a cluster is for the code that calls.
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
