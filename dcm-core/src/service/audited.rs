//! Keeping the use cases in the audit log.
//!
//! Each is kept once, whatever it tries again by itself. What is read is not kept, nor what only looks whether something is
//! to be done: renewal is, once credentials are due.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;

use crate::app_context::Generation;
use crate::audit::{AuditedError, Told, kept};
use crate::causes;
use crate::name::{LogicalCloudName, ProjectName, UserName};
use crate::port::audit::{About, Action, AuditLog, Decision, Outcome};
use crate::port::clock::Clock;
use crate::port::store;
use crate::port::synchronizer::Tombstone;

use super::apply::{Applied, ApplyOutcome};
use super::caller::Caller;
use super::clusters::RegisteredCluster;
use super::controllers::Controller;
use super::error::Error;
use super::lapsed::{OtherBindingsReport, OthersOnCluster};
use super::load::{self, Found};
use super::logical_clouds::LogicalClouds;
use super::owners::{Owner, OwnerKind};
use super::put::{EditOutcome, Edited};
use super::renew::Renewed;
use super::revoke::Revoked;

impl Caller {
    /// What this caller asks for, for the audit log.
    #[must_use]
    pub fn decision(&self, at: Timestamp, action: Action, about: About) -> Decision {
        let (who, why) = (self.who().to_owned(), self.why().to_owned());
        Decision { at, who, why, request_id: self.request_id().to_owned(), action, about, context: None }
    }
}

/// Where decisions are kept; none: nowhere.
pub(super) type Audit = Option<Arc<dyn AuditLog>>;

/// Makes a decision between the two halves of its entry, where there is a log.
pub(super) async fn kept_in<T: Told>(
    log: &Audit,
    clock: &dyn Clock,
    caller: &Caller,
    (action, about): (Action, About),
    call: impl Future<Output = Result<T, Error>> + Send,
) -> Result<T, Error> {
    // In a box: a use case is large, and whatever calls it would hold it, here and in the log's own call.
    let call = Box::pin(call);
    match log {
        Some(log) => kept(&**log, clock, caller.decision(clock.now(), action, about), call).await,
        None => call.await,
    }
}

/// What a decision about a logical cloud is about.
pub(super) fn about(project: &ProjectName, cloud: &LogicalCloudName) -> About {
    About { project: Some(project.clone()), cloud: Some(cloud.clone()), ..About::default() }
}

/// The same about some of its users.
pub(super) fn about_users(
    project: &ProjectName,
    cloud: &LogicalCloudName,
    users: &BTreeSet<UserName>,
) -> About {
    About { users: users.clone(), ..about(project, cloud) }
}

impl LogicalClouds {
    /// The same services, whose decisions are kept.
    #[must_use]
    pub fn audited_by(self, log: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(log), ..self }
    }

    /// Keeps what is decided about a logical cloud.
    pub(super) fn audited<'a, T: Told + 'a>(
        &'a self,
        caller: &'a Caller,
        action: Action,
        about: About,
        call: impl Future<Output = Result<T, Error>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, Error>> {
        // On the heap: a call with all that it calls is large.
        let call = call.boxed();
        let Some(log) = &self.audit else { return call };
        let mut decision = caller.decision(self.clock.now(), action, about);
        let kept = async move {
            if let (Some(project), Some(cloud)) = (&decision.about.project, &decision.about.cloud) {
                decision.context = match load::find(&*self.documents, project, cloud).await {
                    Ok(Found::Standing(place, ..)) => Some(place.context_id()),
                    // What is wrong with the store the call itself says.
                    Ok(_) | Err(_) => None,
                };
            }
            kept(&**log, &*self.clock, decision, call).await
        };
        kept.boxed()
    }
}

impl AuditedError for Error {
    fn not_audited(source: store::Error) -> Self {
        Self::Audit(source)
    }

    /// Without the names of other projects, and in words for members of the project.
    fn kept(&self) -> String {
        match self {
            Self::NamespaceTaken { namespace, cluster, .. } => {
                format!("namespace {namespace} of cluster {cluster} belongs to somebody else")
            }
            // What a store or a kubeconfig is like is in the log of the server, not in that of decisions.
            error if error.hides_its_source() => error.to_string(),
            error => causes::told(error),
        }
    }

    fn is_refusal(&self) -> bool {
        match self {
            Self::Synchronizer(source) => source.is_refusal(),
            Self::Store(_)
            | Self::Audit(_)
            | Self::Contended { .. }
            | Self::Incomplete { .. }
            | Self::UnknownSchema { .. }
            | Self::Unreadable { .. }
            | Self::Key { .. }
            | Self::Authority { .. }
            | Self::KeyRequest { .. } => false,
            _ => true,
        }
    }
}

/// Accepted, and nothing is brought to clusters.
const ACCEPTED: Outcome = Outcome::Accepted { generation: None };

impl Told for Option<Generation> {
    fn outcome(&self) -> Outcome {
        Outcome::Accepted { generation: *self }
    }
}

impl Told for Applied {
    fn outcome(&self) -> Outcome {
        match self.outcome {
            ApplyOutcome::Unchanged => Outcome::Unchanged,
            ApplyOutcome::Begun | ApplyOutcome::Replaced(_) => self.generation.outcome(),
        }
    }
}

impl Told for EditOutcome {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Unchanged => Outcome::Unchanged,
            Self::Created | Self::Changed => ACCEPTED,
        }
    }
}

impl Told for Edited {
    fn outcome(&self) -> Outcome {
        self.outcome.outcome()
    }
}

impl<K: OwnerKind> Told for Owner<K> {
    fn outcome(&self) -> Outcome {
        ACCEPTED
    }
}

impl<K: OwnerKind> Told for (Owner<K>, EditOutcome) {
    fn outcome(&self) -> Outcome {
        self.1.outcome()
    }
}

impl Told for (RegisteredCluster, EditOutcome) {
    fn outcome(&self) -> Outcome {
        self.1.outcome()
    }
}

impl Told for (Controller, EditOutcome) {
    fn outcome(&self) -> Outcome {
        self.1.outcome()
    }
}

impl Told for Vec<Tombstone> {
    fn outcome(&self) -> Outcome {
        ACCEPTED
    }
}

impl Told for Renewed {
    fn outcome(&self) -> Outcome {
        Outcome::Accepted { generation: self.generation }
    }
}

impl Told for OtherBindingsReport {
    fn outcome(&self) -> Outcome {
        let is_unchanged =
            |on: &OthersOnCluster| on.bindings_removed.is_empty() && on.bindings_unknown.is_none();
        if self.clusters.values().all(is_unchanged) { Outcome::Unchanged } else { ACCEPTED }
    }
}

impl Told for Revoked {
    fn outcome(&self) -> Outcome {
        self.generation.outcome()
    }
}
