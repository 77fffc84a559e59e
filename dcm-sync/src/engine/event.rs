//! What an engine tells of its work while it goes on.

use std::sync::Arc;

use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::status::{Cause, LaneState};
use jiff::Timestamp;

/// One thing that happened. Events of one engine are numbered without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number, from 1.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// In which cluster.
    pub cluster: ClusterId,
    /// For which app context; none when it concerns the cluster as a whole.
    pub context: Option<ContextId>,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A lane is in another state than before.
    Lane(LaneState),
    /// An object was made.
    Created(ObjectKey),
    /// An object was brought to its desired state.
    Updated(ObjectKey),
    /// An object was taken over.
    Adopted(ObjectKey),
    /// Somebody else changed or deleted an object: it is brought back, or left so, as the status then says.
    Drifted(Cause),
    /// An object was brought back that somebody else had changed.
    Corrected(ObjectKey),
    /// The deletion of an object was accepted.
    Deleted(ObjectKey),
    /// An object was given back.
    Released(ObjectKey),
    /// A part of an object of another client was changed, or changed back.
    Edited(ObjectKey),
    /// A request was answered.
    Issued(Arc<str>),
    /// What was issued for a request is good no more, as what it is bound to was replaced; it is asked for again.
    Lapsed(Arc<str>),
    /// Something is in the way.
    Hindered(Cause),
    /// This worker has taken the cluster.
    Acquired,
    /// It has taken it from one that gave no sign of life: told after [`What::Acquired`].
    TakenOver,
    /// This worker has lost or given back the cluster.
    Lost,
    /// The cluster answers.
    Connected,
}

impl What {
    /// What happened in a word, as figures name it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lane(_) => "lane",
            Self::Created(_) => "created",
            Self::Updated(_) => "updated",
            Self::Adopted(_) => "adopted",
            Self::Drifted(_) => "drifted",
            Self::Corrected(_) => "corrected",
            Self::Deleted(_) => "deleted",
            Self::Released(_) => "released",
            Self::Edited(_) => "edited",
            Self::Issued(_) => "issued",
            Self::Lapsed(_) => "lapsed",
            Self::Hindered(_) => "hindered",
            Self::Acquired => "acquired",
            Self::TakenOver => "taken-over",
            Self::Lost => "lost",
            Self::Connected => "connected",
        }
    }
}
