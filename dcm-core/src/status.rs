//! How far the engine is: app context → cluster → object → cause.
//!
//! A status never claims more than was seen: each lane says which generation it speaks of, since when, why it is not
//! further and when the next try is.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::app_context::Generation;
use crate::causes::Reader;
use crate::manifest::ObjectKey;
use crate::name::{ClusterId, ContextId};

/// What is wanted of an app context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// It is to be in its clusters.
    Present,
    /// It is to be gone from them.
    Absent,
}

/// How far an app context is, over all its clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// Some lane is not where it is to be, and is worked on or will be tried again.
    Working,
    /// Every lane is where it is to be.
    Done,
    /// Some lane can't go on before somebody changes something; no other lane has work left.
    Stuck,
}

/// The status of one app context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextStatus {
    /// Which app context.
    pub id: ContextId,
    /// The generation that is wanted.
    pub generation: Generation,
    /// What is wanted.
    pub intent: Intent,
    /// Work is paused.
    pub paused: bool,
    /// How far it is.
    pub progress: Progress,
    /// Each cluster's lane.
    pub lanes: BTreeMap<ClusterId, LaneStatus>,
}

/// The status of one app context in one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LaneStatus {
    /// The generation that this status speaks of; smaller than the wanted one until the engine has looked at that.
    pub observed_generation: Generation,
    /// How far it is.
    pub state: LaneState,
    /// Since when it is so.
    pub since: Timestamp,
    /// When every object was last seen as desired because of an apply, a renewal, a reconciliation or a resume. A worker also watches the
    /// cluster and reports later changes in the causes. Without a worker, later changes are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Timestamp>,
    /// Why it is not further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Its objects, in the order of their steps.
    pub objects: Vec<ObjectStatus>,
    /// Its requests, in the order of their steps.
    pub requests: Vec<RequestStatus>,
}

impl LaneStatus {
    /// Leaves out of all causes what a reader may not read.
    pub fn restrict_to(&mut self, reader: Reader) {
        let objects = self.objects.iter_mut().map(|object| &mut object.cause);
        let requests = self.requests.iter_mut().map(|request| &mut request.cause);
        let causes = objects.chain(requests).chain([&mut self.cause]).flatten();
        causes.for_each(|cause| cause.restrict_to(reader));
    }
}

/// How far a lane is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LaneState {
    /// Nothing has happened yet.
    #[default]
    Pending,
    /// Being brought to its desired state.
    Working,
    /// Everything is as desired, but for drift that is only reported: that stands in the causes. Left when the desired
    /// state or the cluster changes.
    Done,
    /// Being removed.
    Removing,
    /// It could not be removed by its deadline. Nobody waits for it any more: it counts as finished. It is retried, and
    /// removed when that is possible.
    Abandoned,
    /// Nothing of it is left, but for what was kept. Final, until the app context is applied again.
    Removed,
}

impl LaneState {
    /// All of them, in the order of a lane's life.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Working, Self::Done, Self::Removing, Self::Abandoned, Self::Removed];

    /// Its name, as in the JSON form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Working => "working",
            Self::Done => "done",
            Self::Removing => "removing",
            Self::Abandoned => "abandoned",
            Self::Removed => "removed",
        }
    }
}

/// Why something is not as desired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The kind of cause, for programs.
    pub reason: Reason,
    /// The cause in words, for people: a sentence of `dcm`. If the cluster refuses an object of the logical cloud and names the rule that it breaks, the
    /// sentence has that rule. It names the request and its object, and what a person can do.
    pub message: Arc<str>,
    /// The whole cause, with what the cluster or the system reported. Only platform admins read it; absent if the message is the whole cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Arc<str>>,
    /// Which object it is about, when it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectKey>,
    /// When the next try is, when there is a time for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<Timestamp>,
}

impl Cause {
    /// A cause of which the message is all that is known, about no object and without a next try.
    pub fn new(reason: Reason, message: impl Into<Arc<str>>) -> Self {
        Self { reason, message: message.into(), detail: None, object: None, next_try: None }
    }

    /// A cause with all that is known of it.
    #[must_use]
    pub fn detailed(self, detail: impl Into<Arc<str>>) -> Self {
        let detail = Some(detail.into()).filter(|detail| *detail != self.message);
        Self { detail, ..self }
    }

    /// The whole cause in words.
    #[must_use]
    pub fn whole(&self) -> &Arc<str> {
        self.detail.as_ref().unwrap_or(&self.message)
    }

    /// The cause in the words for a reader.
    #[must_use]
    pub fn words_for(&self, reader: Reader) -> &Arc<str> {
        match reader {
            Reader::Member => &self.message,
            Reader::PlatformAdmin => self.whole(),
        }
    }

    /// Leaves out what a reader may not read.
    pub fn restrict_to(&mut self, reader: Reader) {
        if reader == Reader::Member {
            self.detail = None;
        }
    }
}

/// The kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Something else has to happen first, such as an object going away.
    Waiting,
    /// A call failed in a way that may pass.
    Retrying,
    /// The cluster can't be reached.
    Unreachable,
    /// The cluster does not accept our credential, or the kubeconfig can't be used.
    Unauthorized,
    /// The cluster does not allow it.
    Denied,
    /// The cluster refuses the object. Of no object: what is known of the whole can't be stored.
    Invalid,
    /// The cluster does not know the kind.
    UnknownKind,
    /// There is an object that is not ours.
    Foreign,
    /// Another field manager holds a field.
    FieldConflict,
    /// A part of an object of another client can't be changed safely.
    LeftAlone,
    /// Somebody else changed or deleted an object, and that is left so and only reported.
    Drifted,
    /// Another client changed or removed our labels or annotations on an object that is ours by its UID.
    Tampered,
    /// A recorded namespace is gone; it is not made again silently.
    NamespaceGone,
    /// The cluster is another one than before, or its kubeconfig leads to another endpoint than the accepted one.
    ClusterChanged,
    /// The cluster is registered under another name, and is worked on under that one.
    SameCluster,
    /// The cluster holds a later change than the store knows of: the store was lost, or restored from an old copy.
    StoreBehind,
    /// The cluster is not as it was when this was planned, and it was to be done as planned or not at all.
    PlanStale,
    /// A certificate was approved and is not issued.
    SignerSilent,
    /// The cluster does not accept any more what it issued, as what that is bound to was replaced, or what signs credentials; a new one is asked
    /// for.
    Lapsed,
    /// The cluster issued a credential and does not accept it: its API server does not trust what signed it.
    NotAccepted,
    /// A namespace has contents and is kept.
    HasContents,
    /// Work is paused.
    Paused,
}

impl Reason {
    /// True for what another client did to an object that was as desired.
    #[must_use]
    pub fn is_drift(self) -> bool {
        matches!(self, Self::Drifted | Self::Tampered)
    }

    /// True when nothing happens by itself: somebody has to change something.
    #[must_use]
    pub fn needs_somebody(self) -> bool {
        match self {
            Self::Denied
            | Self::Invalid
            | Self::UnknownKind
            | Self::Foreign
            | Self::FieldConflict
            | Self::LeftAlone
            | Self::NamespaceGone
            | Self::ClusterChanged
            | Self::SameCluster
            | Self::StoreBehind
            | Self::PlanStale
            | Self::NotAccepted
            | Self::Unauthorized => true,
            Self::Waiting
            | Self::Retrying
            | Self::Unreachable
            | Self::SignerSilent
            | Self::Lapsed
            | Self::HasContents
            | Self::Drifted
            | Self::Tampered
            | Self::Paused => false,
        }
    }
}

/// The status of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectStatus {
    /// Which object.
    #[serde(flatten)]
    pub key: ObjectKey,
    /// How far it is.
    pub state: ObjectState,
    /// Why it is not further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The RoleBindings of other clients that still gave rights in a namespace when it was released, by name: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Arc<str>>,
}

/// How far an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ObjectState {
    /// Not written yet, or not as it is desired now.
    Pending,
    /// As desired.
    Applied,
    /// As desired, and it was there before us.
    Adopted,
    /// A part of it is as desired; the object belongs to other clients.
    Edited,
    /// Written as desired; somebody else changed or deleted it since, and that is left so.
    Drifted,
    /// Desired no longer, and not gone yet.
    Removing,
    /// Desired no longer, and kept: released, no longer ours.
    Kept,
}

/// The status of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RequestStatus {
    /// The request's name.
    pub name: Arc<str>,
    /// The object through which it is asked: a CertificateSigningRequest, or the ServiceAccount of a token.
    pub object: ObjectKey,
    /// How far it is.
    pub state: RequestState,
    /// Why it is not further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RequestState {
    /// Not answered yet.
    Pending,
    /// Answered; the result is stored.
    Issued,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_lanes_has_one_name_everywhere() {
        for state in LaneState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
