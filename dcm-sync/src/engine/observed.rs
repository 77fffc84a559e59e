//! One request to a cluster, with a span of its own and a count.
//!
//! The spans are `lane` (app context, cluster, generation; the same three that audit log and User-Agent have) and in it `call`
//! (verb, kind, object, and the code as outcome). They hold names and numbers alone: nothing that a request or an answer says.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{Call, Error};
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span};

use super::io::Request;
use super::metrics::{Code, Verb};

/// A request that was answered, or given up.
pub(super) struct Answered {
    pub cluster: ClusterId,
    pub context: Option<ContextId>,
    pub verb: Verb,
    pub code: Code,
    pub took: Duration,
}

/// A request that is about to be sent.
pub(super) struct Asked {
    cluster: ClusterId,
    context: Option<ContextId>,
    verb: Verb,
    span: Span,
}

impl Asked {
    /// What is asked for an app context, or for none.
    pub(super) fn new(cluster: &ClusterId, call: &Call, verb: Verb) -> Self {
        let lane = match &call.context {
            Some(context) => {
                tracing::info_span!(parent: None, "lane", %context, %cluster, generation = call.generation.0)
            }
            None => tracing::info_span!(parent: None, "shard", %cluster),
        };
        let span = tracing::info_span!(
            parent: &lane, "call", verb = verb.as_str(), kind = Empty, object = Empty, outcome = Empty
        );
        Self { cluster: cluster.clone(), context: call.context.clone(), verb, span }
    }

    pub(super) fn about_kind(self, kind: &GroupVersionKind) -> Self {
        self.span.record("kind", display(kind));
        self
    }

    pub(super) fn about_object(self, key: &ObjectKey) -> Self {
        self.span.record("kind", &*key.kind).record("object", display(key));
        self
    }

    /// One request of a lane.
    pub(super) fn of(cluster: &ClusterId, call: &Call, request: &Request) -> Self {
        let new = |verb| Self::new(cluster, call, verb);
        match request {
            Request::Get { key, .. } => new(Verb::Get).about_object(key),
            Request::Create(object) => new(Verb::Create).about_object(object.manifest.key()),
            Request::Update { object, .. } => new(Verb::Update).about_object(object.manifest.key()),
            Request::Delete { key, .. } => new(Verb::Delete).about_object(key),
            Request::Release { key, .. } => new(Verb::Release).about_object(key),
            Request::SetPart { key, .. } => new(Verb::Update).about_object(key),
            Request::Approve { key, .. } => new(Verb::Approve).about_object(key),
            Request::Token(_) => new(Verb::Token),
            Request::Try { key, .. } | Request::TryAgain { key, .. } => new(Verb::Try).about_object(key),
            Request::Contents { namespace, .. } => {
                let asked = new(Verb::Contents);
                asked.span.record("object", &**namespace);
                asked
            }
        }
    }

    /// It is not sent, for a reason on our side.
    pub(super) fn unasked(self) -> Answered {
        let code = Code::Unasked;
        self.span.record("outcome", display(code));
        let Self { cluster, context, verb, .. } = self;
        Answered { cluster, context, verb, code, took: Duration::ZERO }
    }

    /// Sends it, and tells what became of it.
    pub(super) async fn send<T>(
        self,
        clock: Arc<dyn Clock>,
        request: impl Future<Output = Result<T, Error>>,
    ) -> (Answered, Result<T, Error>) {
        let begun = clock.now();
        let answer = request.instrument(self.span.clone()).await;
        let took = Duration::try_from(clock.now().duration_since(begun)).unwrap_or_default();
        let code = Code::of(&answer);
        self.span.record("outcome", display(code));
        // Inside of it: writers of JSON list the spans that are entered.
        self.span.in_scope(|| tracing::debug!(took_ms = took.as_millis(), "answered"));
        let Self { cluster, context, verb, .. } = self;
        (Answered { cluster, context, verb, code, took }, answer)
    }
}
