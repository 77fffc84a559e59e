//! What happens in a simulation, for those who judge it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use dcm_core::app_context::{Generation, TokenRequest};
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Observed;
use dcm_core::port::cluster::{Deletion, Error, Fence, Marks, Object, Precondition};
use dcm_core::port::store::{Document, Path, Write};
use jiff::Timestamp;

use super::executor::ProcessId;
use super::scenario::Act;
use super::store::StoreWitness;
use crate::sim::{Arrival, Operation, Reply, Verb, Witness};

/// A write left a process for a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Which process.
    pub process: ProcessId,
    /// When.
    pub at: Timestamp,
    /// To where.
    pub cluster: ClusterId,
    /// What.
    pub verb: Verb,
    /// For which app context.
    pub context: Option<ContextId>,
    /// For which of its generations.
    pub generation: Generation,
    /// The credential that is asked for with it.
    pub asks_for: Option<Asked>,
}

/// A credential that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A certificate, through the CertificateSigningRequest of this name.
    Certificate(Arc<str>),
    /// A token.
    Token(TokenRequest),
}

/// A write was handled by a cluster's server, and not refused.
#[derive(Debug, Clone)]
pub struct Handled {
    /// When.
    pub at: Timestamp,
    /// Where.
    pub cluster: ClusterId,
    /// For which app context it was sent.
    pub context: Option<ContextId>,
    /// In which of its generations.
    pub generation: Generation,
    /// Under which fence.
    pub fence: Fence,
    /// The object that it hit, as it was until then: for a token its account. None where there was none.
    pub before: Option<Box<Object>>,
    /// What it did.
    pub deed: Deed,
}

/// What a write did.
#[derive(Debug, Clone)]
pub enum Deed {
    /// An object was made.
    Created(Written),
    /// An object was changed: updated, approved or released.
    Changed(Verb, Written),
    /// An object was deleted, or is on its way out.
    Deleted {
        /// Which one.
        key: ObjectKey,
        /// The state that it was in.
        observed: Precondition,
        /// Whether it is gone.
        deletion: Deletion,
    },
    /// A token was issued for a ServiceAccount, named with its namespace.
    Token(String),
}

impl Deed {
    /// The object that it was done to; none for a token.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Created(written) | Self::Changed(_, written) => Some(&written.key),
            Self::Deleted { key, .. } => Some(key),
            Self::Token(_) => None,
        }
    }
}

/// An object that was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// Which one.
    pub key: ObjectKey,
    /// Its UID.
    pub uid: Arc<str>,
    /// Its marks now.
    pub marks: Option<Marks>,
}

impl Written {
    fn of(object: &Object) -> Self {
        Self { key: object.key.clone(), uid: object.uid.clone(), marks: object.marks.clone() }
    }
}

/// What work was paused of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Halt {
    /// An app context.
    Context(ContextId),
    /// All of a cluster.
    Cluster(ClusterId),
}

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A write left a process.
    Sent(Sent),
    /// The process that sent this, to ask for a credential, waits no more for what becomes of it: it was answered, or was given
    /// up.
    Ended(Sent),
    /// A write took effect on a cluster.
    Handled(Handled),
    /// A document was written to the store.
    Stored(Write),
    /// Somebody has looked at a cluster, and binds an apply to what he saw.
    Looked(Observed),
    /// Somebody who paused work was told that nothing of it is under way.
    Halted(Halt),
    /// A process makes call after call in no time.
    Spun(ProcessId),
}

/// What is told of a run while it goes on.
#[derive(Debug)]
pub enum Told<'a> {
    /// Something happens to the world.
    Act(Timestamp, &'a Act),
    /// Nothing goes wrong any more.
    Peace(Timestamp),
    /// Something happened.
    Event(Timestamp, &'a Event),
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Act(at, act) => write!(f, "{at} act {act:?}"),
            Self::Peace(at) => write!(f, "{at} peace"),
            Self::Event(at, event) => write!(f, "{at} {event}"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(Sent { process, cluster, verb, .. }) => {
                write!(f, "sent by {} to {cluster}: {verb:?}", process.0)
            }
            Self::Ended(Sent { process, cluster, verb, .. }) => {
                write!(f, "no more awaited by {} of {cluster}: {verb:?}", process.0)
            }
            Self::Handled(handled) => handled.fmt(f),
            Self::Stored(Write::Delete { path, version }) => write!(f, "deleted {path} {}", version.0),
            Self::Stored(Write::Create { path, document }) => stored(f, "created", path, document),
            Self::Stored(Write::Update { path, document, .. }) => stored(f, "updated", path, document),
            Self::Looked(observed) => write!(f, "somebody saw {}", observed.state()),
            Self::Halted(Halt::Context(id)) => write!(f, "nothing is under way of {id}"),
            Self::Halted(Halt::Cluster(id)) => write!(f, "nothing is under way on {id}"),
            Self::Spun(process) => write!(f, "process {} goes round in circles", process.0),
        }
    }
}

/// What was written; not what clusters issued, which is nobody's business.
fn stored(f: &mut fmt::Formatter<'_>, done: &str, path: &Path, document: &Document) -> fmt::Result {
    let is_secret = path.segments().next() == Some("results");
    let text = if is_secret { "(hidden)" } else { document.as_str() };
    write!(f, "{done} {path} {text}")
}

impl fmt::Display for Handled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = self.context.as_ref().map_or("-", ContextId::as_str);
        let (generation, fence) = (self.generation.0, self.fence.0);
        write!(f, "handled by {} for {context} generation {generation} fence {fence}: ", self.cluster)?;
        match &self.deed {
            Deed::Created(written) => write!(f, "created {} {}", written.key, written.uid),
            Deed::Changed(verb, written) => write!(f, "{verb:?} {} {}", written.key, written.uid),
            Deed::Deleted { key, observed, deletion } => {
                write!(f, "deleted {key} {} ({deletion:?})", observed.uid)
            }
            Deed::Token(account) => write!(f, "issued a token for {account}"),
        }
    }
}

/// Collects what happens.
#[derive(Clone, Default)]
pub(super) struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub(super) fn sent(&self, sent: Sent) {
        self.push(Event::Sent(sent));
    }

    pub(super) fn ended(&self, sent: Sent) {
        self.push(Event::Ended(sent));
    }

    pub(super) fn looked(&self, observed: Observed) {
        self.push(Event::Looked(observed));
    }

    pub(super) fn halted(&self, halt: Halt) {
        self.push(Event::Halted(halt));
    }

    pub(super) fn spun(&self, process: ProcessId) {
        self.push(Event::Spun(process));
    }

    /// What has happened since this was asked last.
    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl StoreWitness for Events {
    fn applied(&self, write: &Write) {
        self.push(Event::Stored(write.clone()));
    }
}

impl Witness for Events {
    fn handled(&self, arrival: &Arrival<'_>) {
        let Some(deed) = deed(&arrival.request.operation, arrival.answer) else { return };
        let call = &arrival.request.call;
        self.push(Event::Handled(Handled {
            at: arrival.at,
            cluster: arrival.cluster.clone(),
            context: call.context.clone(),
            generation: call.generation,
            fence: call.fence,
            before: arrival.before.cloned().map(Box::new),
            deed,
        }));
    }
}

fn deed(operation: &Operation, answer: &Result<Reply, Error>) -> Option<Deed> {
    match (operation, answer.as_ref().ok()?) {
        (Operation::Create { .. }, Reply::Written(object)) => Some(Deed::Created(Written::of(object))),
        // What was so already was not written.
        (
            Operation::Update { observed, .. }
            | Operation::Release { observed, .. }
            | Operation::SetPart { observed, .. }
            | Operation::Approve { observed, .. },
            Reply::Written(object),
        ) if observed.resource_version == object.resource_version => None,
        (_, Reply::Written(object)) => Some(Deed::Changed(operation.verb(), Written::of(object))),
        (Operation::Delete { key, observed, .. }, Reply::Deleted(deletion)) => {
            Some(Deed::Deleted { key: key.clone(), observed: observed.clone(), deletion: *deletion })
        }
        (Operation::IssueToken(request), Reply::Issued(_)) => {
            Some(Deed::Token(format!("{}/{}", request.namespace, request.service_account)))
        }
        _ => None,
    }
}
